"""Which addresses count as public: allowed by construction, not by exclusion.

An IPv6 address is public only inside ``2000::/3``; everything outside (mapped, compatible, NAT64, unique-local,
link-local, multicast, whatever is assigned next) is denied without being named. IPv4 has no such block, so there the
table is complete.

Sources: the IANA special-purpose address registries for IPv4 and IPv6, plus cloud metadata services.
    ``ipaddress.is_global`` is not used: it answers "routable?", and says yes for multicast, ``::127.0.0.1``,
    64:ff9b::/96, 2002::/16, fec0::/10 and others.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

__all__ = ["IPAddress", "is_loopback", "judge_address"]

IPAddress: TypeAlias = IPv4Address | IPv6Address

_V4_DENIED: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(network), name)
    for network, name in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private use"),
        ("100.64.0.0/10", "shared address space; holds the metadata service 100.100.100.200"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "metadata service"),
        ("169.254.0.0/16", "link-local; holds the metadata service 169.254.169.254"),
        ("172.16.0.0/12", "private use"),
        ("192.0.0.0/24", "protocol assignments"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "AS112"),
        ("192.52.193.0/24", "multicast tunnelling"),
        ("192.88.99.0/24", "6to4 relays"),
        ("192.168.0.0/16", "private use"),
        ("192.175.48.0/24", "AS112"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)

_V6_GLOBAL = IPv6Network("2000::/3")

_V6_DENIED: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(network), name)
    for network, name in (
        ("2001::/23", "protocol assignments, Teredo, ORCHID"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("2620:4f:8000::/48", "AS112"),
        ("3fff::/20", "documentation"),
    )
)

_V4_LOOPBACK = IPv4Network("127.0.0.0/8")
_V6_LOOPBACK = IPv6Address("::1")


def is_loopback(address: IPAddress) -> bool:
    """Whether an address is in 127.0.0.0/8 or is ::1. A mapped ``::ffff:127.0.0.1`` is not."""
    if isinstance(address, IPv4Address):
        return address in _V4_LOOPBACK
    return address == _V6_LOOPBACK and address.scope_id is None


def judge_address(address: IPAddress) -> str | None:
    """Say why an address must not be connected to; None if it is public."""
    if isinstance(address, IPv4Address):
        for network, name in _V4_DENIED:
            if address in network:
                return f"{network} ({name})"
        return None
    if address.scope_id is not None:
        return "an address with a zone"
    if address not in _V6_GLOBAL:
        return f"outside {_V6_GLOBAL}"
    for block, name in _V6_DENIED:
        if address in block:
            return f"{block} ({name})"
    return None
