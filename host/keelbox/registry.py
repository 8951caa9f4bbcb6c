"""The registry: which tools there are, what starts each, and what each may do.

Here it is loaded, checked and held; the gateway enforces it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from keelbox.errors import ConfigError, FieldFault, InputError, UsageError
from keelbox_sandbox.codec import CodecError, decode

if TYPE_CHECKING:
    from keelbox.egress.secrets_rule import SecretRule
    from keelbox.json_schema import JsonSchema
    from keelbox.limits import LimitsFile
    from keelbox.registry_file import KeenToolEntry, SecretEntry, ToolEntry

__all__ = [
    "KEEN_FILE_NAME",
    "AccessRule",
    "Feed",
    "Liveness",
    "Registry",
    "ToolDeclaration",
    "check_input",
    "input_from_context",
    "load_registry",
]

KEEN_FILE_NAME: Final = "keen-tools.json"

ToolType: TypeAlias = Literal["script", "flow", "agent", "native"]
SideEffect: TypeAlias = Literal["read", "propose", "write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule:
    """Who may use a tool: a CEL expression over the ambient values."""

    id: str
    allows: str
    reason: str | None = None
    """What a refused caller is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Liveness:
    """How long a long tool may be silent before the watchdog cuts it."""

    max_silence_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Which state block takes a tool's result, and as which event."""

    block: str
    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDeclaration:
    """One tool of the registry, checked."""

    name: str
    """Matched literally, spaces and capitals included."""
    type: ToolType
    entry: str
    """script: a path in the project; flow: File-Label; agent: its id; native: module:function."""
    access: Literal["public"] | AccessRule
    side_effect: SideEffect
    description: str = ""
    when: str = ""
    """When a model should use the tool."""
    input: JsonSchema | None = None
    """None takes any value, and a script gets the context's text as it is."""
    output: JsonSchema | None = None
    answers: Literal["conversation", "return"] = "conversation"
    """Whether the answer is a pushed message, or what ``exec`` returns."""
    capability: str | None = None
    """What a grant must hold; None needs none."""
    hosts: tuple[str, ...] | None = ()
    """Host rules of the tool's requests; None for the operator's ``egress.allow``."""
    safe_posts: tuple[str, ...] = ()
    """URLs to which a read tool may POST, because there it only reads; every query of them counts as the same."""
    retries: int = 0
    on_error: Literal["feedback", "fail"] = "feedback"
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    """What the tool asks for, by the names of `keelbox_sandbox.contract.Limits`."""
    duration: Literal["short", "long"] = "short"
    liveness: Liveness | None = None
    """Set exactly for a long tool."""
    secrets: tuple[SecretRule, ...] = ()
    """The operator's secrets that its requests may carry, and which requests."""
    idempotency_key: str | None = None
    """CEL over ``input`` and ``call``; set for each write tool."""
    resource: Mapping[str, str] = field(default_factory=dict[str, str])
    """Facts for policy: name → CEL over ``input``."""
    cost_estimate: float = 0.0
    feeds: Feed | None = None
    commit_blocks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The tools of one project."""

    path: Path
    """The file they are declared in."""
    tools: Mapping[str, ToolDeclaration]
    """By literal name, in the order of the file."""
    secret_lines: Mapping[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """Where each secret is declared, by the names of the tool and the secret."""

    def get(self, name: str) -> ToolDeclaration:
        """Get a tool by its literal name.

        Raises:
            UsageError: there is no such tool; the hint has the nearest names, or all.
        """
        if (tool := self.tools.get(name)) is not None:
            return tool
        from keelbox.registry_rules import folded

        names = {folded(each): each for each in self.tools}
        near = [names[key] for key in difflib.get_close_matches(folded(name), names, n=3)]
        hint = f"did you mean {' or '.join(map(repr, near))}? Names are matched letter by letter" if near else None
        known = ", ".join(map(repr, self.tools)) or "none"
        raise UsageError(f"no tool {name[:80]!r} in {self.path}", hint=hint or f"the tools are: {known}")


def load_registry(path: Path, limits: LimitsFile | None = None) -> Registry:
    """Read ``tools.yaml``, ``tools.json`` or ``keen-tools.json``. Blocks.

    Args:
        path: the file. A file of the name ``keen-tools.json`` says nothing about what its tools may do: they are public
            write tools, keyed by the call's own id, on the operator's hosts.
        limits: what the tools may ask for; the built-in maximum by default.

    Raises:
        ConfigError: every fault of the file, each with its place and with what to write instead.
    """
    from keelbox.limits import load_limits
    from keelbox.registry_file import KeenFile, RegistryFile
    from keelbox.registry_rules import rule_faults
    from keelbox.yaml_file import read_yaml_file

    document = read_yaml_file(path)
    faults = list(rule_faults(document, limits or load_limits(None)))
    try:
        tools: Sequence[ToolEntry | KeenToolEntry]
        keen = path.name == KEEN_FILE_NAME
        tools = document.validated(KeenFile).tools if keen else document.validated(RegistryFile).tools
    except ConfigError as error:
        document.refuse([*error.faults, *faults])
        raise
    document.refuse(faults)
    declared = {tool.name: _declaration(tool) for tool in tools}
    lines = {
        (tool.name, secret.name): document.line(("tools", at, "secrets", index, "name"))
        for at, tool in enumerate(declared.values())
        for index, secret in enumerate(tool.secrets)
    }
    return Registry(path=path, tools=declared, secret_lines=lines)


def _declaration(tool: ToolEntry | KeenToolEntry) -> ToolDeclaration:
    from keelbox.json_schema import JsonSchema
    from keelbox.registry_file import KeenToolEntry

    if isinstance(tool, KeenToolEntry):
        return ToolDeclaration(
            name=tool.name,
            type=tool.type,
            entry=tool.entry,
            access="public",
            side_effect="write",
            idempotency_key="call.id",
            hosts=None,
        )
    access, liveness, feeds = tool.access, tool.liveness, tool.feeds
    return ToolDeclaration(
        name=tool.name,
        type=tool.type,
        entry=tool.entry,
        access="public"
        if isinstance(access, str)
        else AccessRule(id=access.id, allows=access.allows, reason=access.reason),
        side_effect=tool.side_effect,
        description=tool.description,
        when=tool.when,
        input=None if tool.input is None else JsonSchema(tool.input),
        output=None if tool.output is None else JsonSchema(tool.output),
        answers=tool.answers,
        capability=tool.capability,
        hosts=tool.hosts,
        safe_posts=tool.safe_posts,
        retries=tool.retries,
        on_error=tool.on_error,
        limits=tool.limits,
        duration=tool.duration,
        liveness=None if liveness is None else Liveness(max_silence_s=liveness.max_silence_s),
        secrets=tuple(_secret(secret) for secret in tool.secrets),
        idempotency_key=tool.idempotency_key,
        resource=tool.resource,
        cost_estimate=tool.cost_estimate,
        feeds=None if feeds is None else Feed(block=feeds.block, event=feeds.event),
        commit_blocks=tool.commit_blocks,
    )


def _secret(entry: SecretEntry) -> SecretRule:
    from keelbox.egress.secrets_rule import SecretRule

    return SecretRule(
        name=entry.name,
        hosts=entry.hosts,
        methods=entry.methods,
        paths=entry.paths,
        header=entry.header,
        format=entry.format,
        fields=entry.fields,
    )


def input_from_context(declaration: ToolDeclaration, text: str) -> Any:
    """Read the text of ``!*context`` as a tool's input: JSON if the tool has an input schema, else the text itself.

    Raises:
        InputError: there is a schema, and the text is not JSON. Whether the value fits, `check_input` says.
    """
    if declaration.input is None:
        return text
    try:
        return decode(text)
    except CodecError as error:
        fault = FieldFault(path="", rule="json", expected=f"JSON ({error.reason})")
        raise _rejected(declaration, [fault]) from None


def check_input(declaration: ToolDeclaration, value: Any) -> None:
    """Hold an input against a tool's schema, strictly: nothing is coerced, and no default is filled in.

    Raises:
        InputError: every field that does not fit, as path, rule and what is expected; never the value that was given.
    """
    if declaration.input is not None and (faults := declaration.input.faults(value)):
        raise _rejected(declaration, faults)


def _rejected(declaration: ToolDeclaration, faults: Sequence[FieldFault]) -> InputError:
    lines = [f"input of {declaration.name!r} does not fit its schema:"]
    lines += [f"  {fault.path or '(whole input)'}: expected {fault.expected}" for fault in faults]
    return InputError("\n".join(lines), faults, hint="correct these fields and call again; nothing was run")
