"""What a hostile or broken server does to a request, by name.

Each is called with the request not yet read. Those in `ENDLESS` never end by themselves; the others break the exchange.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Callable, Mapping

from tests.servers.fault_server import Behaviour, Peer, head, response

__all__ = ["BOMB_BYTES", "BROKEN_AFTER_HEAD", "BROKEN_BEFORE_HEAD", "ENDLESS", "raw"]

BOMB_BYTES = 64 * 1024 * 1024

_DRIP_S = 0.02


def raw(*parts: bytes) -> Behaviour:
    """Read the request, send these bytes, close."""

    def send_raw(peer: Peer) -> None:
        peer.read_request()
        for part in parts:
            peer.send(part)

    return send_raw


def _drip(start: bytes, drop: Callable[[int], bytes]) -> Behaviour:
    def drip(peer: Peer) -> None:
        peer.read_request()
        peer.send(start)
        for number in itertools.count():
            peer.pause(_DRIP_S)
            peer.send(drop(number))

    return drip


def _flood(start: bytes, data: bytes) -> Behaviour:
    def flood(peer: Peer) -> None:
        peer.read_request()
        peer.send(start)
        while True:
            peer.send(data)

    return flood


def _silent_before_reading(peer: Peer) -> None:
    peer.pause(3600)


def _silent_after_reading(peer: Peer) -> None:
    peer.read_request()
    peer.wait_until_left()


def _silent_in_the_body(peer: Peer) -> None:
    peer.read_request()
    peer.send(head(200, {"Content-Length": "100"}) + b"some")
    peer.wait_until_left()


def _silent_in_a_redirect(peer: Peer) -> None:
    if peer.read_request().target == "/":
        peer.send(response(302, {"Location": "/next"}))
    else:
        peer.wait_until_left()


def _reset_after_reading(peer: Peer) -> None:
    peer.read_request()
    peer.reset()


def _reset_in_the_head(peer: Peer) -> None:
    peer.read_request()
    peer.send(b"HTTP/1.1 200 OK\r\nConte")
    peer.reset()


def _reset_in_the_body(peer: Peer) -> None:
    peer.read_request()
    peer.send(head(200, {"Content-Length": "100"}) + b"some")
    peer.pause(_DRIP_S)  # A reset at once may drop what was sent before it.
    peer.reset()


CHUNKED = head(200, {"Transfer-Encoding": "chunked"})
ENDED = b"0\r\n\r\n"

ENDLESS: Mapping[str, Behaviour] = {
    "silent_before_reading": _silent_before_reading,
    "silent_after_reading": _silent_after_reading,
    "silent_in_the_body": _silent_in_the_body,
    "silent_in_a_redirect": _silent_in_a_redirect,
    "drip_status_line": _drip(b"HTTP/1.1 ", lambda _: b" "),
    "drip_headers": _drip(b"HTTP/1.1 200 OK\r\n", lambda number: b"x-%d: y\r\n" % number),
    "drip_continue": _drip(b"", lambda _: b"HTTP/1.1 100 Continue\r\n\r\n"),
    "drip_body": _drip(head(200, {"Content-Length": "10000"}), lambda _: b"x"),
    "drip_chunks": _drip(CHUNKED, lambda _: b"1\r\nx\r\n"),
    "drip_chunk_extension": _drip(CHUNKED + b"1;", lambda _: b"x"),
    "drip_trailers": _drip(CHUNKED + b"0\r\n", lambda number: b"x-%d: y\r\n" % number),
    "drip_until_closed": _drip(head(200), lambda _: b"x"),
}

BROKEN_BEFORE_HEAD: Mapping[str, Behaviour] = {
    "close_at_once": lambda _: None,
    "close_after_reading": raw(),
    "reset_after_reading": _reset_after_reading,
    "reset_in_the_head": _reset_in_the_head,
    "close_in_the_head": raw(b"HTTP/1.1 200 OK\r\nConte"),
    "only_continue": raw(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "flood_of_continue": _flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "flood_of_status_line": _flood(b"HTTP/1.1 200 ", b"x" * 65536),
    "http_0_9": raw(b"<html>hello</html>"),
    "other_protocol": raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "no_version": raw(b"200 OK\r\n\r\n"),
    "status_word": raw(b"HTTP/1.1 OK\r\n\r\n"),
    "status_four_digits": raw(b"HTTP/1.1 2000 OK\r\n\r\n"),
    "status_negative": raw(b"HTTP/1.1 -200 OK\r\n\r\n"),
    "nul_in_a_name": raw(b"HTTP/1.1 200 OK\r\na\0b: c\r\n\r\n"),
    "nul_in_a_value": raw(b"HTTP/1.1 200 OK\r\na: b\0c\r\n\r\n"),
    "space_before_colon": raw(b"HTTP/1.1 200 OK\r\na : b\r\n\r\n"),
    "no_colon": raw(b"HTTP/1.1 200 OK\r\nabc\r\n\r\n"),
    "fold_at_start": raw(b"HTTP/1.1 200 OK\r\n a: b\r\n\r\n"),
    "header_line_200_kb": raw(b"HTTP/1.1 200 OK\r\na: " + b"x" * 200_000 + b"\r\n\r\n"),
    "headers_8000": raw(b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: y\r\n" % n for n in range(8000)) + b"\r\n"),
    "switching_protocols": raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    "two_lengths": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
    "two_lengths_in_one": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nab"),
    "length_negative": raw(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
    "length_hex": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n\r\n"),
    "length_huge": raw(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 40 + b"\r\n\r\n"),
    "transfer_coding_unknown": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
}

BROKEN_AFTER_HEAD: Mapping[str, Behaviour] = {
    "reset_in_the_body": _reset_in_the_body,
    "length_too_large": raw(head(200, {"Content-Length": "100"}) + b"some"),
    "length_and_chunks": raw(
        head(200, {"Content-Length": "4", "Transfer-Encoding": "chunked"}) + b"4\r\nsome\r\n" + ENDED
    ),
    "chunks_not_ended": raw(CHUNKED + b"4\r\nsome\r\n"),
    "chunk_cut": raw(CHUNKED + b"ff\r\nsome"),
    "chunk_size_word": raw(CHUNKED + b"four\r\nsome\r\n" + ENDED),
    "chunk_size_negative": raw(CHUNKED + b"-4\r\nsome\r\n" + ENDED),
    "chunk_longer_than_said": raw(CHUNKED + b"2\r\nsome\r\n" + ENDED),
    "chunk_size_huge": raw(CHUNKED + b"f" * 30 + b"\r\nsome"),
    "chunk_line_endless": _flood(CHUNKED + b"1;", b"x" * 65536),
    "chunks_tiny": _flood(CHUNKED, b"1\r\nx\r\n" * 10_000),
    "trailers_endless": _flood(CHUNKED + b"0\r\n", b"a: b\r\n" * 1000),
    "headers_101": raw(b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: y\r\n" % n for n in range(101)) + b"\r\n"),
    "headers_33_kb": raw(b"HTTP/1.1 200 OK\r\na: " + b"x" * 33_000 + b"\r\n\r\n"),
    "control_in_a_value": raw(b"HTTP/1.1 200 OK\r\na: b\x01c\r\n\r\n"),
    "status_600": raw(b"HTTP/1.1 600 OK\r\nContent-Length: 0\r\n\r\n"),
    "version_2": raw(b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
    "coding_unknown": raw(response(200, {"Content-Encoding": "br"}, b"some")),
    "coding_twice": raw(response(200, {"Content-Encoding": "gzip, gzip"}, gzip.compress(gzip.compress(b"some")))),
    "gzip_garbage": raw(response(200, {"Content-Encoding": "gzip"}, b"some")),
    "gzip_cut": raw(response(200, {"Content-Encoding": "gzip"}, gzip.compress(b"some" * 100)[:-4])),
    "gzip_then_more": raw(response(200, {"Content-Encoding": "gzip"}, gzip.compress(b"some") + b"more")),
}
