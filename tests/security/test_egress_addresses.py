"""E1 to E5: addresses that are never reached, as a literal and as a name's answer."""

# ruff: noqa: N802

from __future__ import annotations

import pytest
from tests.servers.fault_server import FaultServer
from tests.servers.http_call import FakeResolver, call

from keelbox.egress.policy import EgressPolicy
from keelbox.outcome import Fate

ANY_PUBLIC = EgressPolicy(hosts=["*"], schemes=("https", "http"), any_public=True)

E1 = [
    "0.0.0.0",
    "0.255.255.255",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.175.48.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
]
E2 = ["168.63.129.16", "100.100.100.200", "169.254.169.254", "169.254.170.2", "fd00:ec2::254"]
E3 = [
    "::",
    "::1",
    "fc00::1",
    "fdff::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "100::1",
    "2001::1",
    "2001:20::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "4000::1",
    "2620:4f:8000::1",
]
E4 = ["::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"]
E5 = ["64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "2002:7f00:1::1", "2002:808:808::1", "2001:0:808:808::1"]


def literal(address: str) -> str:
    return f"http://[{address}]/" if ":" in address else f"http://{address}/"


@pytest.mark.parametrize("address", [*E1, *E2, *E3, *E4, *E5])
def test_E1_to_E5_literal_is_denied_before_anything_is_attempted(address: str) -> None:
    called = call(literal(address), policy=ANY_PUBLIC)
    assert (called.code, called.fate) == ("denied", Fate.REFUSED)


@pytest.mark.parametrize("address", [*E1, *E2, *E3, *E4, *E5])
def test_E1_to_E5_answer_is_denied_before_connecting(address: str) -> None:
    called = call("https://api.example.com/", policy=ANY_PUBLIC, resolver=FakeResolver([address]))
    assert (called.code, called.fate) == ("denied", Fate.REFUSED)
    assert f"'api.example.com' has the {'loopback ' if address in ('::1',) else ''}address" in called.detail or (
        "loopback address" in called.detail
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_E1_loopback_server_never_hears_of_a_denied_request(host: str) -> None:
    with FaultServer(lambda peer: peer.answer(), host=host) as server:
        codes = [call(server.url(), policy=ANY_PUBLIC).code]
        codes.append(call(f"http://api.test:{server.port}/", policy=ANY_PUBLIC, resolver=FakeResolver([host])).code)
        assert server.connections_count == 0
    assert codes == ["denied", "denied"]


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "0.0.0.0"])
def test_E1_allowed_loopback_does_not_allow_other_private_addresses(address: str) -> None:
    policy = EgressPolicy(hosts=["*"], schemes=("http",), any_public=True, allow_loopback=True)
    assert call(literal(address), policy=policy).code == "denied"
    assert call("http://api.example.com/", policy=policy, resolver=FakeResolver([address])).code == "denied"
