"""Versions of what Keelbox stands on, and the lowest that are safe."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Version", "installed_versions", "keelbox_version"]

_WASMTIME_FLOOR = "46.0.2"
_QUICKJS_FLOOR = "0.16.2"
"""SECURITY.md: below these, known faults of the engines reach through the wall."""

_PYTHON_FLOOR = "3.11"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One part, and its version."""

    name: str
    version: str
    floor: str | None = None
    """Lowest version that will do; None: any."""

    @property
    def holds(self) -> bool:
        """Whether it is new enough; what cannot be read is not."""
        return self.floor is None or _numbers(self.version) >= _numbers(self.floor)


def keelbox_version() -> str:
    """Get Keelbox's own version; in a checkout that was not installed, say that."""
    from importlib import metadata

    try:
        return metadata.version("keelbox")
    except metadata.PackageNotFoundError:
        return "0+unknown (not installed)"


def installed_versions() -> list[Version]:
    """Look up the versions of everything that matters for safety. Imports the engines."""
    import platform
    import sqlite3

    from keelbox_sandbox.wasm.build import SDIST_REQUIREMENT
    from keelbox_sandbox.wasm.engine import wasmtime_version

    return [
        Version(name="keelbox", version=keelbox_version()),
        Version(name="python", version=platform.python_version(), floor=_PYTHON_FLOOR),
        Version(name="wasmtime", version=wasmtime_version(), floor=_WASMTIME_FLOOR),
        Version(name="quickjs-ng", version=SDIST_REQUIREMENT.rpartition("==")[2], floor=_QUICKJS_FLOOR),
        Version(name="sqlite", version=sqlite3.sqlite_version),
    ]


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match.group().split("."))) if match else ()
