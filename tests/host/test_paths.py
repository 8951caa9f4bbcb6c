"""Where Keelbox finds its own data files."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

from keelbox import _paths


def test_packed_copy_goes_before_a_checkout(tmp_path: Path) -> None:
    """In a wheel the file lies beside the module."""
    module = str(shutil.copy(str(_paths.__file__), tmp_path))
    packed = tmp_path / "_default_limits.yaml"
    packed.touch()

    assert runpy.run_path(module)["default_limits_path"]() == packed


def test_checkout_uses_its_own_file() -> None:
    assert _paths.default_limits_path() == Path(__file__).parents[2] / "limits.yaml"
