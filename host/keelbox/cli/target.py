"""What a script is to ``keelbox run``, ``check`` and ``limits``: a path, or the name of a tool of a project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from keelbox.errors import UsageError
from keelbox.limits import LimitsFile, effective, load_limits, parse_limit_option
from keelbox.project import REGISTRY_FILE_NAMES, Project, locate_script, open_project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from keelbox.registry import ToolDeclaration
    from keelbox_sandbox.contract import Limits

__all__ = ["Target", "find_limits", "find_target", "has_registry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A script to run."""

    folder: Path
    """Where its modules are."""
    entry: str
    declaration: ToolDeclaration | None
    limits: LimitsFile
    note: str | None = None
    """What the user should know of how it was found."""

    @property
    def name(self) -> str:
        """What the script sees as ``options.tool``."""
        return self.entry if self.declaration is None else self.declaration.name

    @property
    def hosts(self) -> tuple[str, ...]:
        """The declared host rules; of a tool that declares none of its own, the operator's."""
        if self.declaration is None:
            return ()
        return (self.limits.egress.allow or ()) if self.declaration.hosts is None else self.declaration.hosts

    @property
    def any_public(self) -> bool:
        """Whether ``*`` may stand among its host rules: only where the operator wrote it."""
        return self.declaration is not None and self.declaration.hosts is None

    def effective_limits(self, options: Sequence[str]) -> tuple[Limits, Mapping[str, str]]:
        """Work out the limits of its runs, and by name where each comes from.

        Args:
            options: ``--limit`` options, as ``NAME=VALUE``.

        Raises:
            UsageError: a limit is unknown, no fit value, or above the maximum.
        """
        given = dict(map(parse_limit_option, options))
        if self.declaration is None:
            return effective(self.limits, command_line=given)
        return effective(self.limits, self.declaration.name, self.declaration.limits, given)


def find_target(text: str, *, project: Path | None, limits_file: Path | None) -> Target:
    """Find a script. Blocks.

    Args:
        text: TARGET.
        project: the folder of the project whose tool it is; None: it is a path.
        limits_file: instead of the project's own limits.

    Raises:
        UsageError: there is no such script or tool, or it is started in another way.
        ConfigError: the registry or the limits have faults.
    """
    limits = None if limits_file is None else load_limits(limits_file)
    if project is not None:
        opened = open_project(project, limits)
        tool = opened.tool(text)
        if tool.type != "script":
            raise UsageError(f"tool {tool.name!r} is of type {tool.type}; keelbox run starts scripts")
        return Target(folder=project, entry=tool.entry, declaration=tool, limits=opened.limits)
    folder, entry = locate_script(Path(text))
    if has_registry(folder):
        opened = open_project(folder, limits)
        declared = _declared_as(opened, entry)
        if declared is not None:
            note = (
                f"{opened.registry.path.name} declares {entry} as {declared.name!r}: "
                "its hosts, limits and input schema apply"
            )
            return Target(folder=folder, entry=entry, declaration=declared, limits=opened.limits, note=note)
    return Target(folder=folder, entry=entry, declaration=None, limits=limits or load_limits(None))


def has_registry(folder: Path) -> bool:
    """Whether the folder is a project."""
    return any((folder / name).exists() for name in REGISTRY_FILE_NAMES)


def find_limits(
    text: str | None, *, project: Path | None, limits_file: Path | None, options: Sequence[str]
) -> tuple[Limits, Mapping[str, str]]:
    """Find the limits of a target's runs, and by name where each comes from; without a target, the general ones.

    Raises:
        UsageError, ConfigError: as `find_target`, and for a limit that cannot be.
    """
    if text is not None:
        return find_target(text, project=project, limits_file=limits_file).effective_limits(options)
    given = None if limits_file is None else load_limits(limits_file)
    file = open_project(project, given).limits if project is not None else given or load_limits(None)
    return effective(file, command_line=dict(map(parse_limit_option, options)))


def _declared_as(project: Project, entry: str) -> ToolDeclaration | None:
    tools = [tool for tool in project.registry.tools.values() if tool.type == "script" and tool.entry == entry]
    if len(tools) > 1:
        names = " and ".join(repr(tool.name) for tool in tools)
        raise UsageError(
            f"{entry} is the entry of {names}",
            hint=f"run one by its name, with --project {project.root}, or check the whole folder",
        )
    return tools[0] if tools else None
