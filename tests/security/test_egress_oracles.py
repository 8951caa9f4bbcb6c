"""E1-E5: our address rule is at least as strict as two public range tables, at every boundary of any of them.

The tables are those of other people's packages, in the ``dev`` extra for this test alone: `ssrfguard` and
`microsoft-antissrf`. Nothing of Keelbox imports them.
"""

# ruff: noqa: N802

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Any, TypeAlias

import pytest

from keelbox.egress.address import judge_address

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

WRAPPERS = ("::", "::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::", "2002::", "2001::", "fe80::5efe:0:0")
"""Prefixes of IPv6 that carry an IPv4 address, with its place left empty."""


def boundaries(networks: Iterable[Network]) -> Iterator[Address]:
    """The first and last address of each network, each with its neighbours."""
    for network in networks:
        kind = type(network.network_address)
        most = (1 << network.max_prefixlen) - 1
        for edge in (int(network.network_address), int(network.broadcast_address)):
            yield from (kind(edge + step) for step in (-1, 0, 1) if 0 <= edge + step <= most)


def wrapped(addresses: Iterable[Address]) -> Iterator[IPv6Address]:
    """IPv4 addresses as IPv6 carries them."""
    for address in addresses:
        if isinstance(address, IPv4Address):
            yield from (IPv6Address(int(IPv6Address(prefix)) | int(address)) for prefix in WRAPPERS)
            yield IPv6Address(int(IPv6Address("2002::")) | int(address) << 80)
            yield IPv6Address(int(IPv6Address("2001::")) | int(address) ^ 0xFFFFFFFF)


def all_checked(networks: Iterable[Network]) -> list[Address]:
    """Every boundary of a table, also inside IPv6, and as many addresses by chance."""
    edges = list(boundaries(networks))
    by_chance = random.Random(20261130)
    some: list[Address] = [IPv4Address(by_chance.getrandbits(32)) for _ in range(3000)]
    some += [IPv6Address(by_chance.getrandbits(128)) for _ in range(1000)]
    some += [IPv6Address(0x2 << 124 | by_chance.getrandbits(125)) for _ in range(3000)]
    return [*edges, *wrapped(edges), *some]


def ssrfguard() -> tuple[list[Network], Callable[[Address], bool]]:
    """The table of ssrfguard, and whether it refuses an address."""
    module: Any = pytest.importorskip("ssrfguard", reason="ssrfguard is not installed (it is in the dev extra)")
    table = module.DEFAULT_DENIED
    return [block.network for block in table.blocks], lambda address: bool(table.classify(address).blocked)


def antissrf() -> tuple[list[Network], Callable[[Address], bool]]:
    """The same of microsoft-antissrf."""
    reason = "microsoft-antissrf is not installed (it is in the dev extra)"
    module: Any = pytest.importorskip("AntiSSRF.ipaddress_ranges", reason=reason)
    networks = [ip_network(text) for text in module.IPAddressRanges.recommended_latest]
    return networks, lambda address: any(address in network for network in networks)


ORACLES = {"ssrfguard": ssrfguard, "antissrf": antissrf}


@pytest.mark.parametrize("oracle", ORACLES.values(), ids=list(ORACLES))
def test_E1_E5_what_a_public_table_refuses_is_refused(oracle: Callable[..., Any]) -> None:
    networks, refuses = oracle()
    checked = all_checked(networks)
    assert [str(address) for address in checked if refuses(address) and judge_address(address) is None] == []
    assert sum(map(refuses, checked)) > 300


@pytest.mark.parametrize("oracle", ORACLES.values(), ids=list(ORACLES))
def test_E1_E5_what_we_refuse_beyond_a_table_is_meant(oracle: Callable[..., Any]) -> None:
    """The rule is strict, and not simply a no: it differs from a table only where IPv6 is not plain global unicast, or
    in ranges for protocols."""
    networks, refuses = oracle()
    more = {judge_address(address) for address in all_checked(networks) if not refuses(address)} - {None}
    assert {reason.split(" ")[0] for reason in more if reason} <= {
        "outside",
        "168.63.129.16/32",
        "192.0.0.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.175.48.0/24",
        "224.0.0.0/4",
        "2001::/23",
        "2002::/16",
        "2620:4f:8000::/48",
    }


@pytest.mark.parametrize("oracle", ORACLES.values(), ids=list(ORACLES))
def test_E1_E5_plain_public_addresses_pass_both(oracle: Callable[..., Any]) -> None:
    _, refuses = oracle()
    for text in ("1.1.1.1", "8.8.8.8", "185.199.108.153"):
        assert not refuses(IPv4Address(text))
        assert judge_address(IPv4Address(text)) is None
    for text in ("2606:4700::1111", "2a00:1450:4001:80f::200e"):
        assert not refuses(IPv6Address(text))
        assert judge_address(IPv6Address(text)) is None
