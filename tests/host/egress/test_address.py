"""The address rule on each boundary, one to each side."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest

from keelbox.egress.address import is_loopback, judge_address

V4_DENIED = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
]
V6_DENIED = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48"]
V6_ELSEWHERE = [
    "::",
    "::1",
    "100::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "4000::1",
]
EMBEDDING = ["::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32"]


@pytest.mark.parametrize("text", V4_DENIED)
def test_v4_range_is_denied_to_its_last_address_and_no_further(text: str) -> None:
    network = IPv4Network(text)
    first, last = int(network.network_address), int(network.broadcast_address)
    assert judge_address(IPv4Address(first))
    assert judge_address(IPv4Address(last))
    outside = [IPv4Address(value) for value in (first - 1, last + 1) if 0 <= value < 2**32]
    assert [address for address in outside if judge_address(address)] == []


@pytest.mark.parametrize("text", V6_DENIED)
def test_v6_range_is_denied_to_its_last_address_and_no_further(text: str) -> None:
    network = IPv6Network(text)
    first, last = int(network.network_address), int(network.broadcast_address)
    assert judge_address(IPv6Address(first))
    assert judge_address(IPv6Address(last))
    assert judge_address(IPv6Address(first - 1)) is None
    assert judge_address(IPv6Address(last + 1)) is None


@pytest.mark.parametrize(
    ("text", "is_public"),
    [
        ("1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", False),
        ("2000::", True),
        ("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", True),
        ("3fff::", False),
        ("3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", False),
        ("3fff:1000::", True),
        ("3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", True),
        ("4000::", False),
    ],
)
def test_v6_is_public_inside_the_global_block_only(text: str, is_public: bool) -> None:
    assert (judge_address(IPv6Address(text)) is None) is is_public


@pytest.mark.parametrize("text", V6_ELSEWHERE)
def test_v6_outside_the_global_block_is_denied_without_a_table(text: str) -> None:
    assert judge_address(IPv6Address(text)) == "outside 2000::/3"


@pytest.mark.parametrize("prefix", EMBEDDING)
@pytest.mark.parametrize("inner", ["8.8.8.8", "127.0.0.1"])
def test_v6_that_embeds_any_v4_is_denied(prefix: str, inner: str) -> None:
    assert judge_address(IPv6Address(int(IPv6Network(prefix).network_address) | int(IPv4Address(inner))))


@pytest.mark.parametrize("text", ["169.254.169.254", "168.63.129.16", "100.100.100.200", "fd00:ec2::254"])
def test_metadata_service_is_denied(text: str) -> None:
    assert judge_address(ip_address(text))


def test_address_with_a_zone_is_denied() -> None:
    assert judge_address(IPv6Address("2606:4700::1111%1")) == "an address with a zone"


@pytest.mark.parametrize("text", ["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1"])
def test_loopback_is_known(text: str) -> None:
    assert is_loopback(ip_address(text))


@pytest.mark.parametrize("text", ["126.255.255.255", "128.0.0.0", "::", "::2", "::1%1", "::ffff:127.0.0.1", "0.0.0.0"])
def test_nothing_else_is_loopback(text: str) -> None:
    assert not is_loopback(ip_address(text))
