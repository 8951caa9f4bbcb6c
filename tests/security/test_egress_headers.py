"""E22 to E24: request headers that a script must not control."""

# ruff: noqa: N802

from __future__ import annotations

import pytest
from tests.servers.fault_server import FaultServer, Peer
from tests.servers.http_call import call

from keelbox.outcome import Fate


def honest(peer: Peer) -> None:
    peer.answer()


def refused(headers: object) -> str:
    """Hold that a request with these headers is refused before anything is attempted; gives what the script reads."""
    with FaultServer(honest) as server:
        called = call(server.url(), headers=headers)
        assert server.connections_count == 0
    assert (called.code, called.fate) == ("request-invalid", Fate.REFUSED)
    assert called.error is not None
    return called.error.message


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "hOsT",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Keep-Alive",
        "Upgrade",
        "TE",
        "Trailer",
        "Expect",
        "Proxy-Authorization",
        "Proxy-Connection",
        "proxy-anything",
        "Forwarded",
        "X-Forwarded-For",
        "x-forwarded-host",
        "X-Real-IP",
        "Via",
        "Cookie",
        "COOKIE",
        "Cookie2",
        "Accept-Encoding",
        "Sec-Fetch-Site",
        "X-HTTP-Method-Override",
        "X-HTTP-Method",
        "X-Method-Override",
    ],
)
def test_E22_header_that_the_host_sets_is_refused(name: str) -> None:
    assert "set by the host only" in refused({name: "x"})


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "\t",
        " a",
        "a ",
        "a\r\nX: y",
        "a\nX: y",
        "a\rX: y",
        "a\0b",
        "a\r\n b",
        "a\x7fb",
        "a\x01b",
        "caf\u00e9",
        "\u010a",
        "\ud800",
        "\u2028",
    ],
)
def test_E23_header_value_that_http_does_not_allow_is_refused(value: str) -> None:
    refused({"X-A": value})


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a b",
        " a",
        "a ",
        "a:",
        ":a",
        "a\r\nb",
        "a\nb",
        "a\0",
        "\u00e9",
        "a(b",
        "a/b",
        "a,b",
        "h\u00f6st",
        "\ud800",
        "x" * 40_000,
    ],
)
def test_E23_header_name_that_http_does_not_allow_is_refused(name: str) -> None:
    refused({name: "x"})


@pytest.mark.parametrize(
    "headers",
    [
        {f"x-{number}": "y" for number in range(10_000)},
        {"x": "y" * 1_000_000},
        {f"x-{number}": "y" * 1000 for number in range(99)},
    ],
)
def test_E24_flood_of_headers_is_refused(headers: dict[str, str]) -> None:
    refused(headers)


def test_E24_most_headers_are_sent() -> None:
    with FaultServer(honest) as server:
        assert call(server.url(), headers={f"x-{number}": "y" for number in range(100)}).status == 200
        assert server.requests[0].headers["x-99"] == "y"


def test_E24_url_of_64_kb_is_refused() -> None:
    with FaultServer(honest) as server:
        assert call(server.url("/" + "x" * 65_536)).code == "request-invalid"
        assert server.connections_count == 0


def test_E22_sent_headers_are_exactly_the_known_ones() -> None:
    with FaultServer(honest) as server:
        call(server.url(), method="POST", headers={"X-A": "b"}, body=b"c")
        (seen,) = server.requests
    assert seen.names == ("host", "accept-encoding", "connection", "content-length", "accept", "user-agent", "x-a")
    assert seen.headers["host"] == f"127.0.0.1:{server.port}"
