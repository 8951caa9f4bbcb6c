"""What a tool's secrets must be beyond their fields' types; called by ``registry_rules``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from keelbox.errors import UsageError
from keelbox.outcome import SAFE_METHODS

if TYPE_CHECKING:
    from keelbox.egress.host_rule import HostRule
    from keelbox.egress.policy import EgressPolicy
    from keelbox.egress.secrets_rule import SecretRule

__all__ = ["secret_faults"]

Place: TypeAlias = tuple[str | int, ...]

_FIT: Final[Mapping[str, Any]] = {
    "name": "X",
    "hosts": ("example.com",),
    "methods": None,
    "paths": None,
    "header": None,
    "format": "{}",
    "fields": (),
}
"""Stands in for a part of a wrong type, so that it hides no fault of another; ``registry_file`` tells the type."""

_HTTPS_PORT: Final = 443


def secret_faults(tool: Mapping[str, Any], policy: EgressPolicy) -> Iterator[tuple[Place, str]]:
    """Find every fault of a tool's secrets that is not one of type: its place below ``secrets``, and what is wrong.

    Args:
        tool: the tool's declaration, raw.
        policy: of those of its hosts that are fit.
    """
    from keelbox.egress.secrets_rule import SecretRule, header_clash, secret_problems

    entries = tool.get("secrets")
    rules: list[SecretRule] = []
    for index, entry in enumerate(cast("Sequence[Any]", entries) if isinstance(entries, list) else ()):
        if not isinstance(entry, dict):
            continue
        parts = _parts(cast("Mapping[str, Any]", entry))
        yield from (((index, *place), problem) for place, problem in secret_problems(**parts))
        yield from (((index, *place), problem) for place, problem in _beside_tool(entry, tool, policy))
        try:
            rule = SecretRule(**parts)
        except UsageError:
            continue
        for earlier in rules:
            if earlier.name == rule.name and "name" in entry:
                yield (index, "name"), "is taken; write all of its hosts into one entry"
            elif (host := header_clash(earlier, rule)) is not None and "hosts" in entry:
                message = f"is set with secret {earlier.name} too, on {host}; tell them apart by methods or paths"
                yield (index, "header"), message
        rules.append(rule)


def _parts(entry: Mapping[str, Any]) -> dict[str, Any]:
    parts = dict(_FIT)
    for name in ("name", "header", "format"):
        if isinstance(value := entry.get(name), str) and value:
            parts[name] = value
    for name in ("hosts", "methods", "paths", "fields"):
        if isinstance(value := entry.get(name), list):
            texts = cast("Sequence[Any]", value)
            if all(isinstance(text, str) and text for text in texts):
                parts[name] = tuple(texts)
    return parts


def _beside_tool(entry: Any, tool: Mapping[str, Any], policy: EgressPolicy) -> Iterator[tuple[Place, str]]:
    from keelbox.egress.host_rule import parse_host_rule
    from keelbox.egress.request import METHODS

    parts = _parts(entry)
    for index, text in enumerate(parts["hosts"] if "hosts" in entry else ()):
        try:
            rule = parse_host_rule(text, allow_loopback=True)
        except UsageError:
            continue
        if not text.startswith("*") and not any(_covers(each, rule) for each in policy.rules):
            yield ("hosts", index), f"is not a host of this tool; add {text} to its hosts, or take it away here"
    if tool.get("side_effect") == "read":
        usable = SAFE_METHODS | {"POST"} if tool.get("safe_posts") else SAFE_METHODS
        for index, method in enumerate(parts["methods"] or ()):
            if method in METHODS - usable:
                may = "GET, HEAD and OPTIONS only, and POST to its safe_posts"
                yield ("methods", index), f"is never sent: a tool with side_effect: read may {may}"


def _covers(tool: HostRule, secret: HostRule) -> bool:
    same_port = (tool.port or _HTTPS_PORT) == (secret.port or _HTTPS_PORT)
    return same_port and secret.host is not None and tool.covers_host(secret.host)
