"""What the operator says about requests: the ``egress`` section of limits.yaml.

It takes away, and never gives: a request passes only where the tool's declaration *and* this section allow it. (The one
exception are tools of a ``keen-tools.json``, which declare nothing: their hosts are ``allow``.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from keelbox.egress.address import IPAddress
from keelbox.egress.faults import denied
from keelbox.egress.host_rule import HostRule, is_loopback_host, parse_host_rule
from keelbox.egress.url import Url

__all__ = ["OperatorEgress"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorEgress:
    """The operator's rules for requests; all defaults are Keelbox's own.

    Raises:
        UsageError: a host rule is not valid or can never match.
    """

    allow: tuple[str, ...] | None = None
    """Host rules; a request must fit one of them. None: whatever the declarations name."""
    deny: tuple[str, ...] = ()
    """Host rules; a request that fits one of them is denied, whatever else allows it."""
    ports: tuple[int, ...] | None = None
    """The only ports. None: whatever the declarations name, else the scheme's own."""
    tool_requests_per_minute_count: int | None = 600
    """Most requests that runs of one tool make within any 60 s, redirects included; None: no limit."""
    tenant_requests_per_minute_count: int | None = 3000
    """The same of one tenant, for all tools together."""
    concurrent_count: int = 200
    """Most requests under way at once; a further one waits, within its own time limit."""
    places: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where a value is set, as ``limits.yaml:12``, by name (``allow``, ``max_requests_per_minute.tool``)."""
    allow_rules: tuple[HostRule, ...] | None = field(init=False)
    deny_rules: tuple[HostRule, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Parse the rules."""
        allow = None if self.allow is None else tuple(parse_host_rule(text, any_public=True) for text in self.allow)
        object.__setattr__(self, "allow_rules", allow)
        object.__setattr__(self, "deny_rules", tuple(parse_host_rule(text, only_refuses=True) for text in self.deny))

    def place(self, name: str) -> str:
        """Say where a value stands, for whoever has to change it."""
        return f"egress.{name} ({self.places.get(name, 'limits.yaml')})"

    def judge(self, url: Url) -> None:
        """Decide on a URL by its host and port. Touches no network.

        Loopback is not the operator's to allow: it is open in local test runs only, and there ``deny`` alone counts.

        Raises:
            EgressError: ``denied``.
        """
        for rule in self.deny_rules:
            if rule.covers_host(url.host) and rule.port in (None, url.port):
                raise denied(f"{url.origin} is denied by {rule.text!r} in {self.place('deny')}")
        if is_loopback_host(url):
            return
        if self.allow_rules is not None and not any(
            rule.covers_host(url.host) and rule.port in (None, url.port) for rule in self.allow_rules
        ):
            listed = ", ".join(rule.text for rule in self.allow_rules) or "none"
            raise denied(
                f"{url.origin} is not among the hosts in {self.place('allow')}: {listed}; "
                f"add {url.authority} there if it may be reached"
            )
        if self.ports is not None and url.port not in self.ports:
            listed = ", ".join(map(str, self.ports)) or "none"
            raise denied(
                f"port {url.port} of host {url.host!r} is not among {self.place('ports')}: {listed}; "
                "add it there if it may be used"
            )

    def judge_address(self, host: str, address: IPAddress, port: int) -> None:
        """Decide on an address of a host: one that ``deny`` names is denied under every name.

        Raises:
            EgressError: ``denied``.
        """
        for rule in self.deny_rules:
            if rule.host == str(address) and rule.port in (None, port):
                raise denied(f"host {host!r} has the address {address}, which {self.place('deny')} denies")
