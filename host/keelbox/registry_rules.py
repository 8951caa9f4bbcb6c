"""What a tool's declaration must be beyond its fields' types.

Found on the raw document, so that a fault of one field does not hide another's. A field of a wrong type is left alone
here: ``registry_file`` tells it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from keelbox.errors import Fault, UsageError
from keelbox.json_schema import schema_problems
from keelbox.limits import LIMIT_FACTS, LimitsFile, declared_faults
from keelbox.source_folder import module_name_problem

if TYPE_CHECKING:
    from keelbox.egress.policy import EgressPolicy
    from keelbox.yaml_file import Loc, YamlFile

__all__ = ["NAME_CHARACTERS_COUNT", "folded", "rule_faults"]

NAME_CHARACTERS_COUNT: Final = 64
"""Longest tool name (as long as MCP and the providers of models take it)."""

_MARKS_TAKEN: Final = frozenset("<>/\\")
"""Would look like the protocol's markers, or like a path, where the name is written."""

_ENTRIES: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "flow": (re.compile(r"\w+-\S(.*\S)?"), "a file and a label, as in MultiAnswer-Start"),
    "agent": (re.compile(r"\w[\w.-]*"), "an agent's id, as in researcher"),
    "native": (
        re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*"),
        "module:function, as in shop.orders:place_order",
    ),
}


def folded(name: str) -> str:
    """Bring names that look or sound alike together: compatibility forms and letter case are dropped."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def rule_faults(document: YamlFile, limits: LimitsFile) -> Iterator[Fault]:
    """Find every fault that is not one of type: in a tool by itself, then names that are taken twice."""
    seen: dict[str, str] = {}
    for index, tool in enumerate(_list(_mapping(document.data).get("tools"))):
        rules = _ToolRules(document, ("tools", index), _mapping(tool), limits)
        yield from rules.faults()
        if not isinstance(name := rules.tool.get("name"), str):
            continue
        if (first := seen.get(folded(name))) is not None:
            same = "the same name" if first == name else f"{first!r} and this differ only in case or form"
            yield rules.fault("name", f"is taken: {same}; a tool is known by its name alone")
        seen[folded(name)] = name


class _ToolRules:
    def __init__(self, document: YamlFile, loc: Loc, tool: Mapping[str, Any], limits: LimitsFile) -> None:
        self.document, self.loc, self.tool, self.limits = document, loc, tool, limits

    def fault(self, field: str, message: str, *further: str | int, key: bool = False) -> Fault:
        return self.document.fault((*self.loc, field, *further), message, at="key" if key else "value")

    def faults(self) -> Iterator[Fault]:
        yield from self._name()
        yield from self._entry()
        yield from self._write()
        yield from self._long()
        yield from self._hosts()
        yield from self._schemas()
        for name, problem in declared_faults(self.limits, _mapping(self.tool.get("limits"))):
            yield self.fault("limits", problem, name, key=name not in LIMIT_FACTS)

    def _name(self) -> Iterator[Fault]:
        name = self.tool.get("name")
        if isinstance(name, str) and (problem := _name_problem(name)):
            yield self.fault("name", problem)

    def _entry(self) -> Iterator[Fault]:
        kind, entry = self.tool.get("type"), self.tool.get("entry")
        if not isinstance(entry, str) or not isinstance(kind, str) or not entry:
            return
        if kind == "script" and (problem := module_name_problem(entry)):
            yield self.fault("entry", f"{problem}; must be a file of this folder, as in weather.js or lib/weather.js")
        elif kind in _ENTRIES and not _ENTRIES[kind][0].fullmatch(entry):
            yield self.fault("entry", f"must be {_ENTRIES[kind][1]}: that is what starts a tool of type {kind}")

    def _write(self) -> Iterator[Fault]:
        if self.tool.get("side_effect") == "write" and self.tool.get("idempotency_key") is None:
            message = "is missing: a write tool needs one, so that the same call does not act twice;"
            yield self.fault("idempotency_key", f"{message} write an expression such as input.order_id, or call.id")

    def _long(self) -> Iterator[Fault]:
        long, liveness = self.tool.get("duration") == "long", self.tool.get("liveness") is not None
        if long and not liveness:
            yield self.fault(
                "liveness", "is missing: a long tool says how long it may be silent, as {max_silence_s: 20}"
            )
        if liveness and not long:
            yield self.fault("liveness", "is for long tools: write duration: long too, or leave it out", key=True)

    def _hosts(self) -> Iterator[Fault]:
        from keelbox.egress.policy import EgressPolicy

        fit: list[str] = []
        for index, host in self._texts("hosts"):
            try:
                EgressPolicy(hosts=(host,))
                fit.append(host)
            except UsageError as error:
                yield self.fault("hosts", "; ".join(filter(None, (error.message, error.hint))), index)
        policy = EgressPolicy(hosts=fit)
        yield from self._safe_posts(policy)
        if self.tool.get("secrets"):
            from keelbox.registry_secrets import secret_faults

            for place, problem in secret_faults(self.tool, policy):
                yield self.fault("secrets", problem, *place)

    def _safe_posts(self, policy: EgressPolicy) -> Iterator[Fault]:
        from keelbox.egress.faults import EgressError
        from keelbox.egress.url import parse_url

        for index, text in self._texts("safe_posts"):
            try:
                url = parse_url(text)
            except EgressError as error:
                yield self.fault("safe_posts", f"{error.detail}; write it as https://api.example.com/graphql", index)
                continue
            if url.scheme != "https":
                yield self.fault("safe_posts", "must be an https URL", index)
            elif "?" in url.target:
                yield self.fault("safe_posts", "must have no query: any query of this URL counts as the same", index)
            elif not any(rule.covers_host(url.host) and rule.covers_port(url) for rule in policy.rules):
                yield self.fault("safe_posts", f"is not on a host of this tool; add {url.authority} to hosts", index)
        if self.tool.get("safe_posts") and self.tool.get("side_effect") in ("propose", "write"):
            yield self.fault("safe_posts", "is for tools with side_effect: read; leave it out", key=True)

    def _texts(self, field: str) -> Iterator[tuple[int, str]]:
        return (
            (index, text) for index, text in enumerate(_list(self.tool.get(field))) if isinstance(text, str) and text
        )

    def _schemas(self) -> Iterator[Fault]:
        for field in ("input", "output"):
            if schema := _mapping(self.tool.get(field)):
                for place, problem in schema_problems(schema):
                    yield self.fault(field, problem, *place, key=True)


def _name_problem(name: str) -> str | None:
    if len(name) > NAME_CHARACTERS_COUNT:
        return f"must have at most {NAME_CHARACTERS_COUNT} characters, has {len(name)}"
    if name != " ".join(name.split()):
        return "must have no space at its ends, and single spaces inside"
    for character in name:
        if not character.isprintable() or character in _MARKS_TAKEN:
            return f"must not hold {_named(character)}"
    if unicodedata.normalize("NFKC", name) != name:
        return f"must be in its plain form (Unicode NFKC): {unicodedata.normalize('NFKC', name)}"
    for word in name.split():
        scripts = {unicodedata.name(each, "").split(" ")[0] for each in word if each.isalpha()}
        if len(scripts & {"LATIN", "CYRILLIC", "GREEK"}) > 1:
            mixed = " and ".join(sorted(map(str.capitalize, scripts)))
            return f"mixes {mixed} letters, which look alike, in the word {word!r}"
    return None


def _named(character: str) -> str:
    code = f"U+{ord(character):04X}"
    return (
        f"{character} ({code})" if character.isprintable() else f"{unicodedata.name(character, 'a control')} ({code})"
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()
