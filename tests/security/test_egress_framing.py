"""E30, E32: answers that are not strict HTTP end the exchange, and nothing is left for the next one."""

# ruff: noqa: N802

from __future__ import annotations

import pytest
from tests.servers.behaviours import BROKEN_AFTER_HEAD, BROKEN_BEFORE_HEAD, raw
from tests.servers.fault_server import FaultServer, Peer, head, response
from tests.servers.http_call import call

from keelbox.outcome import Fate

ROOM_BYTES = 10 * 1024 * 1024


@pytest.mark.parametrize("name", BROKEN_BEFORE_HEAD)
def test_E32_no_valid_head_is_a_protocol_error_and_in_flight(name: str) -> None:
    with FaultServer(BROKEN_BEFORE_HEAD[name]) as server:
        called = call(server.url(), method="POST", body=b"x", room_bytes=ROOM_BYTES)
        assert server.connections_count == 1
    assert (called.code, called.fate) == ("protocol-error", Fate.IN_FLIGHT)
    assert called.record.may_have_effect


def test_E32_reset_at_once_is_known_by_what_could_have_left() -> None:
    """A reset may arrive before the connection is made or after the request was sent; the two are told apart."""
    with FaultServer(Peer.reset) as server:
        outcomes = {(called.code, called.fate) for called in (call(server.url(), method="POST") for _ in range(20))}
    assert outcomes <= {("connect-failed", Fate.NOT_SENT), ("protocol-error", Fate.IN_FLIGHT)}


@pytest.mark.parametrize("name", BROKEN_AFTER_HEAD)
def test_E30_broken_body_is_a_protocol_error_and_answered(name: str) -> None:
    with FaultServer(BROKEN_AFTER_HEAD[name]) as server:
        called = call(server.url(), method="POST", body=b"x", room_bytes=ROOM_BYTES)
        assert server.connections_count == 1
    assert (called.code, called.fate) == ("protocol-error", Fate.ANSWERED)


def test_E30_bytes_after_the_announced_length_are_dropped() -> None:
    with FaultServer(raw(head(200, {"Content-Length": "4"}) + b"some" + response(200, {}, b"smuggled"))) as server:
        called = call(server.url())
    assert (called.status, called.body) == (200, b"some")


def test_E30_same_length_twice_is_one_length() -> None:
    with FaultServer(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nsome")) as server:
        assert call(server.url()).body == b"some"


def test_E30_chunks_are_joined_and_trailers_dropped() -> None:
    chunked = head(200, {"Transfer-Encoding": "chunked"}) + b"2;ext=1\r\nso\r\n2\r\nme\r\n0\r\nX-Late: 1\r\n\r\n"
    with FaultServer(raw(chunked)) as server:
        called = call(server.url())
    assert (called.body, dict(called.headers)) == (b"some", {})


def test_E30_old_body_ends_with_its_connection() -> None:
    with FaultServer(raw(b"HTTP/1.0 200 OK\r\n\r\nsome")) as server:
        assert call(server.url()).body == b"some"


def test_E30_answer_before_the_body_was_read_is_an_answer() -> None:
    def answer_early(peer: Peer) -> None:
        peer.send(response(413, {"Connection": "close"}))
        peer.wait_until_left()

    with FaultServer(answer_early) as server:
        called = call(server.url(), method="POST", body=b"x" * 100)
    assert (called.status, called.fate) == (413, Fate.ANSWERED)


def test_E32_informational_responses_are_skipped() -> None:
    with FaultServer(raw(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 3 + response(200, {}, b"some"))) as server:
        assert call(server.url()).body == b"some"


@pytest.mark.parametrize("status", [204, 304])
def test_E30_bodiless_status_has_no_body_whatever_it_announces(status: int) -> None:
    announced = {"Content-Length": "99999999999", "Content-Encoding": "gzip"}
    with FaultServer(raw(head(status, announced))) as server:
        called = call(server.url())
    assert (called.status, called.body) == (status, b"")
