"""Who may be reached: the tool's host rules, the operator's, and what they never cover.

A policy is made by its constructor only, and nothing in it is read from the environment. Loopback and the single
``*`` need an argument of their own, which no configuration file can set: they are for local development from the
command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from keelbox.egress.address import IPAddress
from keelbox.egress.faults import EgressError, denied
from keelbox.egress.host_rule import (
    HostRule,
    canonical_host,
    is_loopback_host,
    parse_host_rule,
    refuse_address,
    refuse_special_name,
)
from keelbox.egress.operator import OperatorEgress
from keelbox.egress.url import Url, parse_url
from keelbox.errors import UsageError

__all__ = ["EgressPolicy", "HostRule", "Permit"]


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
    operator: OperatorEgress | None = None
    """What the operator allows; both must agree. None: no operator has a say."""
    rules: tuple[HostRule, ...] = field(init=False)
    parsed_routes: Mapping[str, Url] = field(init=False)

    def __post_init__(self) -> None:
        """Parse the rules and routes."""
        object.__setattr__(self, "rules", tuple(self._rule(text) for text in self.hosts))
        if self.routes and not self.allow_loopback:
            raise UsageError("routes are for local testing and need allow_loopback", hint="add --allow-loopback")
        routes = {canonical_host(host, host)[0]: _parse_route(host, base) for host, base in self.routes.items()}
        object.__setattr__(self, "parsed_routes", routes)

    def permit(self, url: Url) -> Permit:
        """Decide on a URL by its scheme, host and port. Touches no network.

        Raises:
            EgressError: ``denied``.
        """
        if self.allow_loopback and is_loopback_host(url):
            if self.operator is not None:
                self.operator.judge(url)
            return Permit(url=url, rule="loopback is allowed")
        if url.address is None:
            refuse_special_name(url.host)
        else:
            self.judge(url.host, url.address, url.port)
        if url.scheme not in self.schemes:
            raise denied(f"scheme {url.scheme!r} of {url.origin} is not allowed; use {' or '.join(self.schemes)}")
        if self.operator is not None:
            self.operator.judge(url)
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

    def judge(self, host: str, address: IPAddress, port: int) -> None:
        """Decide on an address of a host, and a port there.

        Raises:
            EgressError: ``denied``: it is not public, or loopback that is not allowed, or the operator denies it.
        """
        refuse_address(host, address, allow_loopback=self.allow_loopback)
        if self.operator is not None:
            self.operator.judge_address(host, address, port)

    def _rule(self, text: str) -> HostRule:
        return parse_host_rule(text, any_public=self.any_public, allow_loopback=self.allow_loopback)


def _parse_route(host: str, base: str) -> Url:
    hint = "write it as http://127.0.0.1:8765"
    try:
        url = parse_url(base)
    except EgressError as fault:
        raise UsageError(f"route of {host[:80]!r}: {fault.detail}", hint=hint) from None
    if url.scheme != "http" or url.target != "/" or not is_loopback_host(url):
        raise UsageError(f"route of {host[:80]!r} is not an http base URL on loopback: {url}", hint=hint)
    return url
