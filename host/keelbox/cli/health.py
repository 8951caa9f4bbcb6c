"""The work of ``keelbox doctor``."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keelbox.cli.sandbox import open_sandbox
from keelbox.cli.text import Screen, bytes_text, ms_text
from keelbox.cli.versions import Version, installed_versions
from keelbox.cli.walls import Wall, try_walls

__all__ = ["Cache", "Health", "examine"]

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """One folder in which Keelbox keeps what it can make again."""

    name: str
    path: str
    bytes_count: int
    mode: int
    """Permission bits of the folder."""
    own: bool
    """Whether it belongs to the present user."""

    @property
    def private(self) -> bool:
        """Whether nobody else can put something into it."""
        return self.own and not self.mode & _OTHERS_WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What was found."""

    versions: list[Version]
    caches: list[Cache]
    walls: list[Wall]

    @property
    def sound(self) -> bool:
        """Whether all is as it must be."""
        return (
            all(version.holds for version in self.versions)
            and all(cache.private for cache in self.caches)
            and all(wall.held for wall in self.walls)
        )

    def document(self) -> dict[str, Any]:
        """Get it as JSON (docs/reference/cli.md)."""
        return {
            "status": "ok" if self.sound else "failed",
            "code": None if self.sound else "unsound",
            "versions": [
                {"name": each.name, "version": each.version, "floor": each.floor, "ok": each.holds}
                for each in self.versions
            ],
            "caches": [
                {
                    "name": each.name,
                    "path": each.path,
                    "bytes": each.bytes_count,
                    "mode": f"{each.mode:04o}",
                    "ok": each.private,
                }
                for each in self.caches
            ],
            "walls": [
                {"name": each.name, "held": each.held, "detail": each.detail, "ms": round(each.ms, 3)}
                for each in self.walls
            ],
        }

    def show(self) -> None:
        """Print it for a person, to stdout."""
        screen = Screen(data=True)
        screen.say("versions")
        for version in self.versions:
            floor = f"(at least {version.floor})" if version.floor else ""
            _line(screen, version.holds, f"{version.name:<11} {version.version:<12} {floor}")
        screen.say("caches")
        for cache in self.caches:
            facts = f"{bytes_text(cache.bytes_count)}, mode {cache.mode:04o}"
            _line(screen, cache.private, f"{cache.name:<11} {cache.path} ({facts})")
        screen.say("walls")
        for wall in self.walls:
            _line(screen, wall.held, f"{wall.name:<44} {wall.detail} ({ms_text(wall.ms)})")


async def examine() -> Health:
    """Look at versions and caches, and try the walls. Takes about two seconds."""
    async with open_sandbox() as sandbox:
        walls = await try_walls(sandbox)
    return Health(versions=installed_versions(), caches=[_code_cache()], walls=walls)


def _code_cache() -> Cache:
    from keelbox_sandbox.wasm.code_cache import cache_folder

    folder = cache_folder()
    status = folder.stat()
    return Cache(
        name="code",
        path=str(folder),
        bytes_count=sum(_size(path) for path in folder.iterdir()),
        mode=stat.S_IMODE(status.st_mode),
        own=status.st_uid == os.geteuid(),
    )


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:  # another process has tidied up
        return 0


def _line(screen: Screen, good: bool, text: str) -> None:
    mark = screen.style("ok ", "green") if good else screen.style("BAD", "red", bold=True)
    screen.say(f"  {mark} {text.rstrip()}")
