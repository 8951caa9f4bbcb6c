"""Where Keelbox's own data files are: in the wheel, or in a checkout."""

from __future__ import annotations

from pathlib import Path

__all__ = ["default_limits_path"]


def default_limits_path() -> Path:
    """Get Keelbox's own limits.yaml: the copy packed beside this file, else (in a checkout) the one at its top."""
    packed = Path(__file__).with_name("_default_limits.yaml")
    return packed if packed.is_file() else Path(__file__).parents[2] / "limits.yaml"
