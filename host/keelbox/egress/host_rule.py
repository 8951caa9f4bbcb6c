"""Host rules: one line of a tool's hosts, of the operator's lists, or of a secret's hosts."""

from __future__ import annotations

from dataclasses import dataclass

from keelbox.egress.address import IPAddress, is_loopback, judge_address
from keelbox.egress.faults import EgressError, denied
from keelbox.egress.url import DEFAULT_PORTS, Url, parse_host, parse_port
from keelbox.errors import UsageError

__all__ = [
    "HostRule",
    "canonical_host",
    "is_loopback_host",
    "parse_host_rule",
    "refuse_address",
    "refuse_special_name",
]

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
    """One host rule, parsed."""

    text: str
    """As it was written."""
    host: str | None
    """Canonical host; None covers every public host."""
    below: bool
    """Whether the rule was ``*.host``: any name strictly below it, at any depth, never the host itself."""
    port: int | None
    """The one port that the rule names."""

    def covers_host(self, host: str) -> bool:
        """Whether the host fits, whatever the port."""
        if self.host is None:
            return True
        return host.endswith(f".{self.host}") if self.below else host == self.host

    def covers_port(self, url: Url) -> bool:
        """Whether the port fits; a rule that names none means the scheme's own (https 443, http 80)."""
        return url.port == (DEFAULT_PORTS[url.scheme] if self.port is None else self.port)

    def covers(self, url: Url) -> bool:
        """Whether host and port fit."""
        return self.covers_host(url.host) and self.covers_port(url)


def parse_host_rule(
    text: str, *, any_public: bool = False, allow_loopback: bool = False, only_refuses: bool = False
) -> HostRule:
    """Read a host rule: ``api.example.com``, ``*.example.com``, either with ``:8443``, or ``*``.

    Args:
        text: the rule.
        any_public: whether ``*`` may stand here.
        allow_loopback: whether loopback may.
        only_refuses: whether the rule can only take something away: then it may be as wide as one likes, and may name
            what can never be reached anyway.

    Raises:
        UsageError: it is not valid, too wide, or can never match.
    """
    if text == "*":
        if any_public or only_refuses:
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
    host, address = canonical_host(host_text, text)
    if address is not None and below:
        raise UsageError(f"host rule {text!r}: an address has no names below it", hint="write the address alone")
    rule = HostRule(text=text, host=host, below=below, port=port)
    if only_refuses:
        return rule
    try:
        if address is not None:
            refuse_address(host, address, allow_loopback=allow_loopback)
        elif not (allow_loopback and _is_loopback_name(host)):
            refuse_special_name(host)
    except EgressError as fault:
        raise UsageError(f"host rule {text!r} can never match: {fault.detail}") from None
    if below and host.count(".") + 1 < _WILDCARD_LABELS_COUNT:
        raise UsageError(f"host rule {text!r} is too wide", hint="name at least two labels, as in *.example.com")
    return rule


def canonical_host(text: str, rule: str) -> tuple[str, IPAddress | None]:
    """Bring the host of a rule into its canonical form; see `parse_host`.

    Args:
        text: the host.
        rule: the rule that it is in.

    Raises:
        UsageError: it is none.
    """
    try:
        return parse_host(text)
    except EgressError as fault:
        raise UsageError(
            f"host rule {rule[:80]!r}: {fault.detail}", hint="write a host name, as in api.example.com or *.example.com"
        ) from None


def is_loopback_host(url: Url) -> bool:
    """Whether a URL's host is loopback by what it is called, with no look-up."""
    return is_loopback(url.address) if url.address is not None else _is_loopback_name(url.host)


def refuse_special_name(host: str) -> None:
    """Refuse a name that is never public.

    Raises:
        EgressError: ``denied``.
    """
    if "." not in host:
        hint = "; for local testing run with --allow-loopback" if host == "localhost" else ""
        raise denied(f"host {host!r} has one label only, so it is not a public name{hint}")
    for name in _NEVER_PUBLIC:
        if host.endswith(f".{name}"):
            raise denied(f"host {host!r} is below {name!r}, which is never public")


def refuse_address(host: str, address: IPAddress, *, allow_loopback: bool) -> None:
    """Refuse an address of a host that is not public.

    Raises:
        EgressError: ``denied``.
    """
    if is_loopback(address):
        if allow_loopback:
            return
        raise denied(f"host {host!r} has the loopback address {address}; for local testing run with --allow-loopback")
    reason = judge_address(address)
    if reason is not None:
        raise denied(
            f"host {host!r} has the address {address}, which is not public ({reason}); "
            "private networks cannot be reached"
        )


def _is_loopback_name(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")
