"""Who may be reached: host rules, and what they never cover.

A policy is made by its constructor only, and nothing in it is read from the environment. Loopback and the single
``*`` need an argument of their own, which no configuration file can set: they are for local development from the
command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from keelbox.egress.address import IPAddress, is_loopback, judge_address
from keelbox.egress.faults import EgressError, denied
from keelbox.egress.url import DEFAULT_PORTS, Url, parse_host, parse_port, parse_url
from keelbox.errors import UsageError

__all__ = ["EgressPolicy", "HostRule", "Permit"]

_NEVER_PUBLIC = (
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
    "invalid",
    "onion",
    "alt",
)
"""Special-use names (RFC 6761, 6762, 7686, 8375, 9476; ICANN's ``internal``) and the common names of private
networks."""

_WILDCARD_LABELS_COUNT = 2
"""Fewest labels below ``*.``: ``*.com`` would be half the world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRule:
    """One entry of a tool's hosts."""

    text: str
    """As it was written."""
    host: str | None
    """Canonical host; None covers every public host."""
    below: bool
    """Whether the rule was ``*.host``: any name strictly below it, at any depth, never the host itself."""
    port: int | None
    """The one port that the rule allows; None for the scheme's own (https 443, http 80)."""

    def covers_host(self, host: str) -> bool:
        """Whether the host fits, whatever the port."""
        if self.host is None:
            return True
        return host.endswith(f".{self.host}") if self.below else host == self.host

    def covers_port(self, url: Url) -> bool:
        """Whether the port fits."""
        return url.port == (DEFAULT_PORTS[url.scheme] if self.port is None else self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """A URL that a policy allows; the addresses of its host are still to be judged."""

    url: Url
    rule: str
    """Which rule allowed it, for the operator."""
    route: Url | None = None
    """Where the request goes instead (local testing only)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """Which hosts, ports, schemes and addresses the requests of a run may reach.

    Raises:
        UsageError: a host rule or a route is not valid, too wide, or can never match.
    """

    hosts: Sequence[str] = ()
    """``api.example.com`` exactly that host; ``*.example.com`` any name strictly below; ``host:8443`` only that port;
    ``*`` any public host."""
    schemes: Sequence[str] = ("https",)
    any_public: bool = False
    """Whether ``*`` may be used as a host rule: from the command line only, never for a declaration."""
    allow_loopback: bool = False
    """Whether 127.0.0.0/8, ::1 and ``localhost`` are reachable on every port with http and https, without a host
    rule; and whether a host that a rule allows may have such an address. For local testing."""
    routes: Mapping[str, str] = field(default_factory=dict[str, str])
    """For local testing, needs ``allow_loopback``: host → loopback base URL. A request to that host which the other
    rules allow goes to the loopback address in plain http instead; its Host header stays."""
    rules: tuple[HostRule, ...] = field(init=False)
    parsed_routes: Mapping[str, Url] = field(init=False)

    def __post_init__(self) -> None:
        """Parse the rules and routes."""
        object.__setattr__(self, "rules", tuple(_parse_rule(text, self) for text in self.hosts))
        if self.routes and not self.allow_loopback:
            raise UsageError("routes are for local testing and need allow_loopback", hint="add --allow-loopback")
        routes = {_host_of(host, host)[0]: _parse_route(host, base) for host, base in self.routes.items()}
        object.__setattr__(self, "parsed_routes", routes)

    def permit(self, url: Url) -> Permit:
        """Decide on a URL by its scheme, host and port. Touches no network.

        Raises:
            EgressError: ``denied``.
        """
        if self.allow_loopback and _is_loopback_host(url):
            return Permit(url=url, rule="loopback is allowed")
        if url.address is None:
            _refuse_special_name(url.host)
        else:
            self.judge(url.host, url.address)
        if url.scheme not in self.schemes:
            raise denied(f"scheme {url.scheme!r} of {url.origin} is not allowed; use {' or '.join(self.schemes)}")
        fitting = [rule for rule in self.rules if rule.covers_host(url.host)]
        if not fitting:
            allowed = ", ".join(rule.text for rule in self.rules) or "none"
            raise denied(
                f"host {url.host!r} is not allowed (allowed hosts: {allowed}); "
                f"add it to the tool's hosts, or run with --allow-host {url.host}"
            )
        for rule in fitting:
            if rule.covers_port(url):
                return Permit(url=url, rule=f"host rule {rule.text!r}", route=self.parsed_routes.get(url.host))
        raise denied(
            f"port {url.port} of host {url.host!r} is not allowed by {', '.join(repr(rule.text) for rule in fitting)}; "
            f"allow it as {url.host}:{url.port}"
        )

    def judge(self, host: str, address: IPAddress) -> None:
        """Decide on an address of a host.

        Raises:
            EgressError: ``denied``: it is not public, or loopback that is not allowed.
        """
        if is_loopback(address):
            if self.allow_loopback:
                return
            raise denied(
                f"host {host!r} has the loopback address {address}; for local testing run with --allow-loopback"
            )
        reason = judge_address(address)
        if reason is not None:
            raise denied(
                f"host {host!r} has the address {address}, which is not public ({reason}); "
                "private networks cannot be reached"
            )


def _parse_rule(text: str, policy: EgressPolicy) -> HostRule:
    if text == "*":
        if policy.any_public:
            return HostRule(text=text, host=None, below=False, port=None)
        raise UsageError("host rule '*' is too wide for a declaration", hint="name each host that the tool needs")
    if "/" in text or "@" in text:
        raise UsageError(f"host rule {text[:80]!r} is not a host", hint="write the host only, as in api.example.com")
    rest, below = (text[2:], True) if text.startswith("*.") else (text, False)
    host_text, port = rest, None
    before, colon, after = rest.rpartition(":")
    if colon and (not rest.startswith("[") or before.endswith("]")):
        try:
            host_text, port = before, parse_port(after)
        except EgressError as fault:
            raise UsageError(
                f"host rule {text[:80]!r}: {fault.detail}", hint="write host:port, as in a.com:8443"
            ) from None
    host, address = _host_of(host_text, text)
    if address is not None and below:
        raise UsageError(f"host rule {text!r}: an address has no names below it", hint="write the address alone")
    try:
        if address is not None:
            policy.judge(host, address)
        elif not (policy.allow_loopback and _is_loopback_name(host)):
            _refuse_special_name(host)
    except EgressError as fault:
        raise UsageError(f"host rule {text!r} can never match: {fault.detail}") from None
    if below and host.count(".") + 1 < _WILDCARD_LABELS_COUNT:
        raise UsageError(f"host rule {text!r} is too wide", hint="name at least two labels, as in *.example.com")
    return HostRule(text=text, host=host, below=below, port=port)


def _host_of(text: str, rule: str) -> tuple[str, IPAddress | None]:
    try:
        return parse_host(text)
    except EgressError as fault:
        raise UsageError(
            f"host rule {rule[:80]!r}: {fault.detail}", hint="write a host name, as in api.example.com or *.example.com"
        ) from None


def _parse_route(host: str, base: str) -> Url:
    hint = "write it as http://127.0.0.1:8765"
    try:
        url = parse_url(base)
    except EgressError as fault:
        raise UsageError(f"route of {host[:80]!r}: {fault.detail}", hint=hint) from None
    if url.scheme != "http" or url.target != "/" or not _is_loopback_host(url):
        raise UsageError(f"route of {host[:80]!r} is not an http base URL on loopback: {url}", hint=hint)
    return url


def _is_loopback_host(url: Url) -> bool:
    if url.address is not None:
        return is_loopback(url.address)
    return _is_loopback_name(url.host)


def _is_loopback_name(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _refuse_special_name(host: str) -> None:
    if "." not in host:
        hint = "; for local testing run with --allow-loopback" if host == "localhost" else ""
        raise denied(f"host {host!r} has one label only, so it is not a public name{hint}")
    for name in _NEVER_PUBLIC:
        if host.endswith(f".{name}"):
            raise denied(f"host {host!r} is below {name!r}, which is never public")
