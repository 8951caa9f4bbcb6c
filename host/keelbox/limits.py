"""Which limits hold for a run: limits.yaml, what a tool asks for, and what the operator says on the command line.

Where nothing else is said, the built-in values hold, and no file is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from keelbox.egress.operator import OperatorEgress
from keelbox.errors import Fault, UsageError
from keelbox.limit_facts import LIMIT_FACTS, LimitFact, built_in_maximum
from keelbox.limit_rules import above, number, unfit, unknown
from keelbox_sandbox.contract import Limits

if TYPE_CHECKING:
    from keelbox.yaml_file import Loc, YamlFile

__all__ = [
    "LIMIT_FACTS",
    "LimitFact",
    "LimitsFile",
    "declared_faults",
    "effective",
    "load_limits",
    "parse_limit_option",
]

_SECTIONS: Final = ("defaults", "maximum", "egress", "tools")
_FILE_BYTES_MAX: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsFile:
    """What the operator says: a whole limits.yaml, or the built-in values where there is none."""

    defaults: Limits
    maximum: Limits
    tools: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """The operator's values for single tools, by literal tool name."""
    egress: OperatorEgress = field(default_factory=OperatorEgress)
    """What the operator says about requests."""
    path: Path | None = None
    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    """The line of each value that the file sets: ``defaults.heap_mib``, ``tools.Current Weather.wall_s``."""

    def origin(self, place: str, otherwise: str) -> str:
        """Say where a value is set, e.g. ``limits.yaml:12``; ``otherwise`` if the file does not set it."""
        line = self.lines.get(place)
        return otherwise if line is None or self.path is None else f"{self.path.name}:{line}"


def load_limits(path: Path | None) -> LimitsFile:
    """Read a limits.yaml. Blocks; None gives the built-in values and reads nothing.

    Raises:
        ConfigError: every fault of the file, each with line and column.
    """
    if path is None:
        return LimitsFile(defaults=Limits(), maximum=built_in_maximum())
    from keelbox.yaml_file import read_yaml_file

    document = read_yaml_file(path, bytes_max=_FILE_BYTES_MAX)
    reader = _Reader(document)
    file = reader.read(path)
    document.refuse(reader.faults)
    return file


def effective(
    file: LimitsFile,
    tool_name: str | None = None,
    declared: Mapping[str, float] | None = None,
    command_line: Mapping[str, float] | None = None,
) -> tuple[Limits, Mapping[str, str]]:
    """Work out the limits of a tool's runs.

    Args:
        file: what the operator says in general.
        tool_name: the tool, by its literal name; None for a script that is no tool of a project.
        declared: ``limits`` of the tool's declaration.
        command_line: what ``--limit`` says. All stay within ``maximum``. Of the file's defaults, the declaration, the
            file's values for the tool and the command line, the last that names a limit holds.

    Returns:
        The limits, and by name where each value comes from.

    Raises:
        UsageError: a declared or given limit is unknown, no fit value, or above the maximum; all of them are told.
    """
    asked = f"tool {tool_name}: limits" if tool_name else "limits"
    problems = [f"{asked}.{name}: {problem}" for name, problem in declared_faults(file, declared or {})]
    problems += [f"--limit {name}: {problem}" for name, problem in declared_faults(file, command_line or {})]
    if problems:
        raise UsageError("\n".join(problems))
    values: dict[str, Any] = {name: getattr(file.defaults, name) for name in LIMIT_FACTS}
    origins = {name: file.origin(f"defaults.{name}", "built-in default") for name in LIMIT_FACTS}
    override = file.tools.get(tool_name) if tool_name else None
    for source, origin in ((declared, "tools.yaml limits"), (override, ""), (command_line, "--limit")):
        for name, value in (source or {}).items():
            values[name] = value
            origins[name] = origin or f"{file.origin(f'tools.{tool_name}.{name}', 'limits.yaml')} tools.{tool_name}"
    return Limits(**values), origins


def declared_faults(file: LimitsFile, declared: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Find what is wrong with limits that are asked for: pairs of limit name and what is wrong with it."""
    for name, value in declared.items():
        problem = unknown(name, value) or unfit(LIMIT_FACTS[name], value)
        if problem is None:
            problem = above(name, value, getattr(file.maximum, name), file.origin(f"maximum.{name}", "built-in"))
        if problem is not None:
            yield name, problem


def parse_limit_option(text: str) -> tuple[str, float]:
    """Read ``NAME=VALUE``. Whether the value is within the maximum, `effective` says.

    Raises:
        UsageError: no such limit, or no fit value.
    """
    from keelbox.yaml_tree import read_number

    example = "for example --limit wall_s=3; keelbox limits lists all of them"
    name, sign, written = (part.strip() for part in text.partition("="))
    if not sign:
        raise UsageError(f"--limit takes NAME=VALUE, got {text!r}", hint=example)
    try:
        value: Any = None if written in ("null", "none", "None") else read_number(written)
    except ValueError as error:
        raise UsageError(f"--limit {name}: {error}", hint=example) from None
    if problem := unknown(name, value) or unfit(LIMIT_FACTS[name], value):
        raise UsageError(f"--limit {name}: {problem}", hint=example)
    return name, float(value) if isinstance(value, float) else int(value)


class _Reader:
    """Checks a document and collects its faults."""

    def __init__(self, document: YamlFile) -> None:
        self.document = document
        self.faults: list[Fault] = []
        self.lines: dict[str, int] = {}

    def read(self, path: Path) -> LimitsFile:
        from keelbox.limits_egress import read_egress
        from keelbox.yaml_faults import unknown_name

        for name in self._mapping(()):
            if name in LIMIT_FACTS:
                self._refuse((name,), "a limit stands in a section; put it under defaults:", key=True)
            elif name not in _SECTIONS:
                self._refuse((name,), unknown_name(name, _SECTIONS), key=True)
        maximum = self._limits(("maximum",))
        defaults = self._limits(("defaults",))
        tools = {tool: self._limits(("tools", tool)) for tool in self._mapping(("tools",))}
        file = LimitsFile(
            defaults=replace(Limits(), **defaults),
            maximum=replace(built_in_maximum(), **maximum),
            tools=tools,
            egress=read_egress(self.document, path.name, self.faults),
            path=path,
            lines=self.lines,
        )
        self._compare(file, defaults, maximum)
        return file

    def _limits(self, section: Loc) -> dict[str, Any]:
        """Take the fit values of a section and note what is wrong with the others."""
        values: dict[str, Any] = {}
        for name, value in self._mapping(section).items():
            loc = (*section, name)
            if problem := unknown(name, value):
                self._refuse(loc, problem, key=True)
            elif problem := unfit(LIMIT_FACTS[name], value):
                self._refuse(loc, problem)
            else:
                values[name] = value
                self.lines[".".join(map(str, loc))] = self.document.line(loc)
        return values

    def _compare(self, file: LimitsFile, defaults: Mapping[str, float], maximum: Mapping[str, float]) -> None:
        for name in LIMIT_FACTS:
            highest = getattr(file.maximum, name)
            origin = file.origin(f"maximum.{name}", "built-in")
            asking: list[tuple[Loc, float]] = [
                (("tools", tool, name), values[name]) for tool, values in file.tools.items() if name in values
            ]
            if name in defaults:
                asking.append((("defaults", name), defaults[name]))
            for loc, value in asking:
                if problem := above(name, value, highest, origin):
                    self._refuse(loc, problem)
            built_in = LIMIT_FACTS[name].default
            if name in maximum and name not in self._mapping(("defaults",)) and built_in > highest:
                problem = f"is {number(highest)}, below the built-in default {number(built_in)}"
                self._refuse(("maximum", name), f"{problem}; write defaults.{name} too, or raise this")

    def _mapping(self, loc: Loc) -> dict[str, Any]:
        """Get a section; an absent or empty one holds nothing."""
        from keelbox.yaml_faults import seen

        try:
            value = self.document.at(loc)
        except (LookupError, TypeError):
            return {}
        if value is None:
            return {}
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
        self._refuse(loc, f"must be a mapping of names to values, got {seen(value)}")
        return {}

    def _refuse(self, loc: Loc, message: str, *, key: bool = False) -> None:
        self.faults.append(self.document.fault(loc, message, at="key" if key else "value"))
