"""The ``egress`` section of limits.yaml: what the operator says about requests, read and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from keelbox.egress.operator import OperatorEgress
from keelbox.errors import Fault, UsageError

if TYPE_CHECKING:
    from keelbox.yaml_file import Loc, YamlFile

__all__ = ["EGRESS_FACTS", "EgressFact", "read_egress"]

_RATES: Final = "max_requests_per_minute"
_COUNT_MAX: Final = 2**31 - 1
"""Highest count that nothing but good sense bounds."""

_PORT_MAX: Final = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressFact:
    """One value of the section. The texts are Markdown, without a full stop at the end."""

    name: str
    """With dots where it is nested."""
    field: str
    """Of `OperatorEgress`."""
    means: str
    beyond: str
    """What becomes of a request that does not fit, as the script sees it."""
    not_covered: str
    null: str | None = None
    """What ``null`` means; None: it may not be null."""

    @property
    def default(self) -> Any:
        """The built-in value, as in the file."""
        value = getattr(OperatorEgress(), self.field)
        return list(cast("Sequence[Any]", value)) if isinstance(value, tuple) else value


EGRESS_FACTS: Final[Mapping[str, EgressFact]] = {
    fact.name: fact
    for fact in (
        EgressFact(
            name="allow",
            field="allow",
            means="host rules; a request must fit one of them, and the tool's own `hosts` as well",
            beyond="the op throws `denied`",
            not_covered="loopback, which only `--allow-loopback` opens",
            null="every host that a tool declares",
        ),
        EgressFact(
            name="deny",
            field="deny",
            means="host rules; a request that fits one of them is denied, whatever else allows it; an address here "
            "holds for every name that leads to it, too",
            beyond="the op throws `denied`",
            not_covered="what is never public: that needs no rule",
        ),
        EgressFact(
            name="ports",
            field="ports",
            means="the only ports that requests may go to",
            beyond="the op throws `denied`",
            not_covered="loopback, as above",
            null="the port that a host rule of the tool names, else 443",
        ),
        EgressFact(
            name=f"{_RATES}.tool",
            field="tool_requests_per_minute_count",
            means="requests of one tool of one tenant within any 60 seconds, each redirect counted, denied ones not",
            beyond="the op throws `too-many-requests`, and nothing is sent",
            not_covered="other processes: each counts for itself; a single run, which `requests_count` bounds",
            null="no limit",
        ),
        EgressFact(
            name=f"{_RATES}.tenant",
            field="tenant_requests_per_minute_count",
            means="the same for all tools of one tenant together",
            beyond="the op throws `too-many-requests`, and nothing is sent",
            not_covered="other processes: each counts for itself",
            null="no limit",
        ),
        EgressFact(
            name="max_concurrent",
            field="concurrent_count",
            means="requests under way at once, of all tools and tenants together",
            beyond="the op waits its turn, within its own time limit; then it throws `timeout`, and nothing was sent",
            not_covered="other processes: each counts for itself",
        ),
    )
}
"""Every value of the section by name, in its order."""


def read_egress(document: YamlFile, path_name: str, faults: list[Fault]) -> OperatorEgress:
    """Read the section.

    Args:
        document: the whole file.
        path_name: how messages name the file.
        faults: gets every fault of the section, with its place.

    Returns:
        What is fit of it; built-in values for the rest.
    """
    return _Reader(document, path_name, faults).read()


class _Reader:
    def __init__(self, document: YamlFile, path_name: str, faults: list[Fault]) -> None:
        self.document, self.path_name, self.faults = document, path_name, faults
        self.places: dict[str, str] = {}

    def read(self) -> OperatorEgress:
        values: dict[str, Any] = {}
        for name, loc, value in self.entries():
            if value is None:
                if EGRESS_FACTS[name].null is None:
                    self.refuse(loc, "must not be null; leave it out for the default")
                    continue
                fit: Any = None
            elif name in ("allow", "deny"):
                fit = tuple(self.host_rules(name, loc, value))
            elif name == "ports":
                fit = tuple(self.ports(loc, value))
            else:
                fit = value if self.is_whole(loc, value, _COUNT_MAX) else EGRESS_FACTS[name].default
            values[EGRESS_FACTS[name].field] = fit
            self.places[name] = f"{self.path_name}:{self.document.line(loc)}"
        return OperatorEgress(**values, places=self.places)

    def entries(self) -> Iterator[tuple[str, Loc, Any]]:
        """Give the known values that the section sets."""
        for name, value in self.mapping(("egress",), "allow, deny, ports, …"):
            loc: Loc = ("egress", name)
            if name == _RATES:
                for kind, inner in self.mapping(loc, "{tool: 600, tenant: 3000}"):
                    if self.is_known((*loc, kind), kind, ("tool", "tenant")):
                        yield f"{_RATES}.{kind}", (*loc, kind), inner
            elif self.is_known(loc, name, {fact.partition(".")[0] for fact in EGRESS_FACTS}):
                yield name, loc, value

    def mapping(self, loc: Loc, form: str) -> Iterator[tuple[str, Any]]:
        from keelbox.yaml_faults import seen

        try:
            value = self.document.at(loc)
        except (LookupError, TypeError):
            return
        if isinstance(value, dict):
            yield from cast("dict[str, Any]", value).items()
        elif value is not None:
            self.refuse(loc, f"must be a mapping of names to values ({form}), got {seen(value)}")

    def is_known(self, loc: Loc, name: str, known: Any) -> bool:
        from keelbox.yaml_faults import unknown_name

        if name in known:
            return True
        self.faults.append(self.document.fault(loc, unknown_name(name, known), at="key"))
        return False

    def host_rules(self, name: str, loc: Loc, value: Any) -> Iterator[str]:
        from keelbox.egress.host_rule import parse_host_rule

        for item_loc, item in self.items(loc, value, "host rules, as in [api.example.com]"):
            if not isinstance(item, str):
                self.refuse(item_loc, "must be a host rule, as in api.example.com or *.example.com")
                continue
            try:
                parse_host_rule(item, any_public=name == "allow", only_refuses=name == "deny")
            except UsageError as error:
                self.refuse(item_loc, "; ".join(filter(None, (error.message, error.hint))))
            else:
                yield item

    def ports(self, loc: Loc, value: Any) -> Iterator[int]:
        for item_loc, item in self.items(loc, value, "ports, as in [443]"):
            if self.is_whole(item_loc, item, _PORT_MAX):
                yield item

    def items(self, loc: Loc, value: Any, form: str) -> Iterator[tuple[Loc, Any]]:
        from keelbox.yaml_faults import seen

        if isinstance(value, list):
            yield from (((*loc, index), item) for index, item in enumerate(cast("Sequence[Any]", value)))
        else:
            self.refuse(loc, f"must be a list of {form}, got {seen(value)}")

    def is_whole(self, loc: Loc, value: Any, most: int) -> bool:
        from keelbox.yaml_faults import seen

        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
            return True
        self.refuse(loc, f"must be a whole number from 1 to {most}, got {seen(value)}")
        return False

    def refuse(self, loc: Loc, message: str) -> None:
        self.faults.append(self.document.fault(loc, message))
