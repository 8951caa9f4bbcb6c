"""A project: one folder with a registry, the scripts that it names, and the operator's limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from keelbox.errors import UsageError

if TYPE_CHECKING:
    from keelbox.limits import LimitsFile
    from keelbox.registry import Registry, ToolDeclaration

__all__ = ["LIMITS_FILE_NAME", "REGISTRY_FILE_NAMES", "Project", "locate_script", "open_project"]

REGISTRY_FILE_NAMES: Final = ("tools.yaml", "tools.json", "keen-tools.json")
"""A project has exactly one of these."""

LIMITS_FILE_NAME: Final = "limits.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """An open project: its files have been read and checked."""

    root: Path
    registry: Registry
    limits: LimitsFile
    """Its ``limits.yaml``; the built-in values if it has none."""

    def tool(self, name: str) -> ToolDeclaration:
        """Get a tool by its literal name.

        Raises:
            UsageError: there is no such tool; the hint has the nearest names.
        """
        return self.registry.get(name)


def open_project(folder: Path, limits: LimitsFile | None = None) -> Project:
    """Read a project's registry and limits. Blocks.

    Args:
        folder: the project.
        limits: instead of the project's own ``limits.yaml``.

    Raises:
        UsageError: it is no folder, or has no registry, or more than one.
        ConfigError: a file has faults.
    """
    from keelbox.limits import load_limits
    from keelbox.registry import load_registry

    if not folder.is_dir():
        hint = f"give its folder: --project {folder.parent}" if folder.is_file() else None
        raise UsageError(f"project {folder} is not a folder", hint=hint)
    found = [folder / name for name in REGISTRY_FILE_NAMES if (folder / name).exists()]
    if not found:
        wanted = "tools.yaml, tools.json or keen-tools.json"
        near = next((name for name in ("tools.yml", "tool.yaml") if (folder / name).exists()), None)
        hint = f"rename {near} to tools.yaml" if near else "for one script, give its path instead of a tool's name"
        raise UsageError(f"no registry in {folder}: it needs a {wanted}", hint=hint)
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise UsageError(f"{folder} has more than one registry: {names}", hint=f"keep one; {found[0].name} says most")
    if limits is None:
        path = folder / LIMITS_FILE_NAME
        limits = load_limits(path if path.exists() else None)
    return Project(root=folder, registry=load_registry(found[0], limits), limits=limits)


def locate_script(path: Path) -> tuple[Path, str]:
    """Say where a script that is named by its path runs: its own folder, and its name there.

    A symlink is followed first: who names a script means the one that it leads to, with the files beside it.

    Raises:
        UsageError: there is no such file.
    """
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise UsageError(f"no script {path}", hint="for a tool of a project, add --project DIR") from None
    if not target.is_file():
        hint = f"for a tool of this folder, write its name and --project {path}" if target.is_dir() else None
        raise UsageError(f"{path} is not a file", hint=hint)
    return target.parent, target.name
