"""E7 to E13 and E26: tricks in the URL itself."""

# ruff: noqa: N802

from __future__ import annotations

import pytest
from tests.servers.fault_server import FaultServer
from tests.servers.http_call import Called, FakeResolver, call

from keelbox.egress.policy import EgressPolicy
from keelbox.outcome import Fate

ALLOWED = EgressPolicy(hosts=["allowed.com", "*.allowed.com"], schemes=("https", "http"))
ANY_PUBLIC = EgressPolicy(hosts=["*"], schemes=("https", "http"), any_public=True)
LOCAL = EgressPolicy(hosts=["*"], schemes=("https", "http"), any_public=True, allow_loopback=True)


def untouched(url: str, policy: EgressPolicy = ANY_PUBLIC) -> Called:
    """Carry out a request that must not even ask the resolver."""
    resolver = FakeResolver(OSError("never to be asked"))
    called = call(url, policy=policy, resolver=resolver)
    assert resolver.asked == []
    assert called.fate is Fate.REFUSED
    return called


@pytest.mark.parametrize(
    "host",
    [
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0x7f.0.0.1",
        "0",
        "0.0",
        "00.0.0.0",
        "127.0.0.01",
        "127.0.0.1.1",
        "256.1.1.1",
        "1.1.1.0x1",
        "a.1",
        "１２７.0.0.1",
        "127。0。0。1",
        "①.1.1.1",
    ],
)
def test_E7_numeric_host_that_is_no_plain_quad_is_denied(host: str) -> None:
    assert untouched(f"http://{host}/", LOCAL).code == "denied"


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost.",
        "LOCALHOST",
        "x.localhost",
        "db.internal",
        "DB.Internal.",
        "a.b.internal",
        "metadata.google.internal",
        "printer.local",
        "nas.lan",
        "x.home.arpa",
        "intranet",
        "ⓛocalhost",
    ],
)
def test_E9_private_name_is_denied(host: str) -> None:
    assert untouched(f"http://{host}/").code == "denied"


@pytest.mark.parametrize(
    "host",
    [
        "a..com",
        ".com",
        "a.com..",
        "a" * 64 + ".com",
        ".".join(["a" * 63] * 4) + ".com",
        "a_b.com",
        "-a.com",
        "a-.com",
        "a" * 300,
        "a!b.com",
        "a,b.com",
        "a'b.com",
        "xn--a.com",
        "xn--.com",
        "☃.com",
    ],
)
def test_E10_host_that_is_no_name_is_refused(host: str) -> None:
    assert untouched(f"https://{host}/").code in ("request-invalid", "denied")


@pytest.mark.parametrize("host", ["Allowed.COM", "allowed.com.", "a.ALLOWED.com.", "ａllowed.com", "all\u200bowed.com"])
def test_E10_case_dot_width_and_invisibles_are_normalised_once(host: str) -> None:
    resolver = FakeResolver(OSError("no such name"))
    assert call(f"https://{host}/", policy=ALLOWED, resolver=resolver).code == "dns-failed"
    assert resolver.asked[0].endswith("allowed.com")


@pytest.mark.parametrize(
    "url",
    [
        "https://allowed.com.evil.com/",
        "https://evilallowed.com/",
        "https://evil.com/allowed.com",
        "https://allowed.com@evil.com/",
        "https://evil.com@allowed.com/",
        "https://evil.com#@allowed.com/",
        "https://evil.com?@allowed.com/",
        "https://evil.com\\@allowed.com/",
        "https://allowed.com\\@evil.com/",
        "https://allowed.com:443@evil.com/",
        "https://user:pass@allowed.com/",
        "https://@allowed.com/",
        "https://allowed.com:80:443/",
        "https://[allowed.com]/",
        "https://allowed.com%2eevil.com/",
        "https://allowed.com%00.evil.com/",
        "https://allowed.com/\\..\\",
        "https:\\\\allowed.com/",
    ],
)
def test_E11_confusing_authority_is_refused(url: str) -> None:
    assert untouched(url, ALLOWED).code in ("request-invalid", "denied")


@pytest.mark.parametrize(
    "url",
    [
        "http://%31%32%37.0.0.1/",
        "http://a%00b.com/",
        "http://a.com%20/",
        "http://a b.com/",
        "http://a.com/ x",
        "http://a.com/\tx",
        "http://a.com/\r\nX: y",
        "http://a.com/\nx",
        " http://a.com/",
        "http://a.com/ ",
        "http://a.com\r\n/",
        "ht\ntp://a.com/",
        "http://a.com/\x00",
        "http://a.com/\x7f",
        "http://a.com/\x85",
    ],
)
def test_E12_encoded_host_and_control_characters_are_refused(url: str) -> None:
    assert untouched(url).code == "request-invalid"


@pytest.mark.parametrize(
    "port", ["0", "65536", "99999999999", "", "-1", "+80", "0443", "4 43", "80:443", "٤٤٣", "0x50", "443a"]
)
def test_E13_port_that_is_none_is_refused(port: str) -> None:
    assert untouched(f"https://allowed.com:{port}/", ALLOWED).code == "request-invalid"


@pytest.mark.parametrize("port", [22, 25, 80, 6379, 8443, 65535])
def test_E13_port_that_no_rule_lists_is_denied(port: int) -> None:
    assert untouched(f"https://allowed.com:{port}/", ALLOWED).code == "denied"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.com/",
        "file:///etc/passwd",
        "gopher://a.com/",
        "ws://a.com/",
        "wss://a.com/",
        "unix:///run/x",
        "http+unix://%2Frun%2Fx/",
        "javascript:alert(1)",
        "data:text/plain,x",
        "blob:https://a.com/x",
        "a" * 200 + "://a.com/",
        "httpx://a.com/",
        "view-source:https://a.com/",
    ],
)
def test_E26_other_scheme_is_denied(url: str) -> None:
    assert untouched(url, LOCAL).code == "denied"


def test_E26_scheme_is_read_in_any_case() -> None:
    with FaultServer(lambda peer: peer.answer(200)) as server:
        assert call(server.url().replace("http:", "HTTP:"), policy=LOCAL).status == 200


def test_E26_http_needs_to_be_allowed() -> None:
    assert untouched("http://allowed.com/", EgressPolicy(hosts=["allowed.com"])).code == "denied"
