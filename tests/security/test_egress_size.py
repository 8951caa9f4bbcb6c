"""E29, E33, E37: nothing larger than the exchange buffer is ever held."""

# ruff: noqa: N802

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from tests.servers.behaviours import raw
from tests.servers.fault_server import FaultServer, Peer, head, response
from tests.servers.http_call import Called, call

from keelbox.outcome import Fate

ROOM_BYTES = 100_000
CHUNKED = head(200, {"Transfer-Encoding": "chunked"})
Framing = Callable[[bytes], bytes]


def with_length(body: bytes) -> bytes:
    return response(200, {}, body)


def with_chunks(body: bytes) -> bytes:
    chunks = [body[start : start + 1000] for start in range(0, len(body), 1000)]
    return CHUNKED + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


def until_closed(body: bytes) -> bytes:
    return head(200) + body


def with_gzip(body: bytes) -> bytes:
    return response(200, {"Content-Encoding": "gzip"}, gzip.compress(body))


def with_stored_gzip(body: bytes) -> bytes:
    return response(200, {"Content-Encoding": "gzip"}, gzip.compress(body, compresslevel=0))


def with_deflate(body: bytes) -> bytes:
    return response(200, {"Content-Encoding": "deflate"}, zlib.compress(body))


FRAMINGS: list[Framing] = [with_length, with_chunks, until_closed, with_gzip, with_stored_gzip, with_deflate]


def call_with(answer: bytes) -> Called:
    with FaultServer(raw(answer)) as server:
        return call(server.url(), method="POST", room_bytes=ROOM_BYTES)


@pytest.mark.parametrize("framing", FRAMINGS)
def test_E29_body_of_exactly_the_buffer_passes(framing: Framing) -> None:
    body = bytes(range(250)) * (ROOM_BYTES // 250)
    assert call_with(framing(body)).body == body


@pytest.mark.parametrize("framing", FRAMINGS)
def test_E29_body_of_one_byte_more_is_too_large(framing: Framing) -> None:
    called = call_with(framing(b"x" * (ROOM_BYTES + 1)))
    assert (called.code, called.fate) == ("response-too-large", Fate.ANSWERED)
    assert called.record.bytes_in <= ROOM_BYTES


def test_E29_announced_length_is_refused_before_the_body_is_read() -> None:
    with FaultServer(raw(head(200, {"Content-Length": str(10**12)}))) as server:
        called = call(server.url(), room_bytes=ROOM_BYTES)
    assert (called.code, called.record.bytes_in) == ("response-too-large", 0)


def test_E29_reading_stops_at_once() -> None:
    sent_bytes = 0

    def flood(peer: Peer) -> None:
        nonlocal sent_bytes
        peer.read_request()
        peer.send(head(200))
        while True:
            peer.send(b"x" * 65536)
            sent_bytes += 65536

    with FaultServer(flood) as server:
        assert call(server.url(), room_bytes=ROOM_BYTES).code == "response-too-large"
    # What the two socket buffers of a loopback connection hold, far from what a flood would bring.
    assert sent_bytes < 16 * 1024 * 1024


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_E33_bomb_is_stopped_at_the_buffer(coding: str) -> None:
    bomb = (gzip.compress if coding == "gzip" else zlib.compress)(bytes(64 * 1024 * 1024))
    called = call_with(response(200, {"Content-Encoding": coding}, bomb))
    assert (called.code, called.fate) == ("response-too-large", Fate.ANSWERED)
    assert called.record.bytes_in <= ROOM_BYTES


def test_E33_coded_flood_that_decodes_to_nothing_is_stopped() -> None:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    empty_blocks = stream.flush(zlib.Z_FULL_FLUSH) * 200_000
    called = call_with(head(200, {"Content-Encoding": "deflate"}) + empty_blocks)
    assert called.code in ("response-too-large", "protocol-error")


def test_E33_decoded_body_has_no_headers_of_its_coding() -> None:
    called = call_with(with_gzip(b"some"))
    assert (called.body, dict(called.headers)) == (b"some", {})


def test_E33_empty_body_needs_no_coding() -> None:
    assert call_with(response(200, {"Content-Encoding": "gzip"}, b"")).body == b""


def test_E37_body_larger_than_the_buffer_is_refused_before_connecting() -> None:
    with FaultServer(lambda peer: peer.answer()) as server:
        called = call(server.url(), method="POST", body=b"x" * (ROOM_BYTES + 1), room_bytes=ROOM_BYTES)
        assert server.connections_count == 0
        assert call(server.url(), method="POST", body=b"x" * ROOM_BYTES, room_bytes=ROOM_BYTES).status == 200
    assert (called.code, called.fate) == ("request-invalid", Fate.REFUSED)
