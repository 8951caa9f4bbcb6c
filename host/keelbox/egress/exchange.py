"""One request and its response, over one fresh connection.

Importing this module imports the HTTP library; import it where a request is about to be sent.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from itertools import chain

import anyio
import anyio.lowlevel
import httpcore2

from keelbox.egress.address import IPAddress
from keelbox.egress.answer import REDIRECT_STATUSES, Answer, may_have_body
from keelbox.egress.decode import Decoder, decoder_for
from keelbox.egress.faults import denied, protocol_error, too_large
from keelbox.egress.headers import check_response_headers, readable_headers, sent_headers
from keelbox.egress.request import Request
from keelbox.egress.scrub import Scrubber
from keelbox.egress.trail import Hop, Stage
from keelbox.egress.wire import PinnedBackend

__all__ = ["exchange"]

SEND_BYTES = 64 * 1024
"""Size of one write of the request's body: the body is never copied whole."""

RAW_SLACK_BYTES = 256 * 1024
"""How much larger than the buffer a body may be on the wire, for the overhead of its content coding."""

FREE_PARTS_COUNT = 64 * 1024
PART_BYTES = 16
"""After `FREE_PARTS_COUNT` parts a body must average this many bytes a part: a flood of one-byte chunks costs far more
time than it carries data."""

STEPS_COUNT = 64
"""After so many steps the other runs get their turn: one read of 64 KiB can hold 11,000 chunks, which kept the event
loop for 117 ms, and can inflate to 64 MB."""

_LOGGERS = ("httpcore2.connection", "httpcore2.http11")
"""The HTTP library's loggers of what happens here; with DEBUG they write the headers of each response."""

_in_exchange: ContextVar[bool] = ContextVar("_in_exchange", default=False)

_VERSIONS = (b"HTTP/1.1", b"HTTP/1.0")


async def exchange(
    request: Request,
    hop: Hop,
    addresses: Sequence[IPAddress],
    *,
    port: int,
    tls: ssl.SSLContext | None,
    room_bytes: int,
    scrubber: Scrubber,
) -> Answer:
    """Send a request to one of the addresses and read the response.

    Args:
        request: what to send.
        hop: kept up to date, so that it is right whenever this is cut.
        addresses: all checked; tried in turn.
        port: the port to connect to.
        tls: None for plain http.
        room_bytes: most body bytes, decoded.
        scrubber: takes the values of secrets out of the response.

    Raises:
        EgressError: for every failure. Cancellation closes the connection and goes through.
    """
    quiet = _in_exchange.set(True)
    backend = PinnedBackend(hop, addresses, port)
    scheme = b"http" if tls is None else b"https"
    host = request.url.host.encode("ascii")
    connection = httpcore2.AsyncHTTPConnection(
        httpcore2.Origin(scheme, host, port), ssl_context=tls, network_backend=backend, http2=False
    )
    wire_request = httpcore2.Request(
        request.method,
        httpcore2.URL(scheme=scheme, host=host, port=port, target=request.url.target),
        headers=sent_headers(request.url, request.method, request.headers, len(request.body)),
        content=_body_parts(request.body, hop),
    )
    try:
        response = await connection.handle_async_request(wire_request)
        hop.stage = Stage.ANSWERED
        hop.status = response.status
        return await _read(request, hop, response, room_bytes, scrubber)
    except httpcore2.RemoteProtocolError as error:
        raise protocol_error(f"{hop.url.origin}: {error}") from None
    except (httpcore2.ReadError, httpcore2.WriteError) as error:
        raise protocol_error(f"{hop.url.origin}: the connection broke: {error}") from None
    finally:
        with anyio.CancelScope(shield=True):
            await backend.aclose()
        _in_exchange.reset(quiet)


class _WithoutHeaders(logging.Filter):
    """Drops what the HTTP library says of our exchanges, whatever level a logger has: others who use it keep theirs."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _in_exchange.get()


for _name in _LOGGERS:
    logging.getLogger(_name).addFilter(_WithoutHeaders())


async def _body_parts(body: bytes, hop: Hop) -> AsyncIterator[bytes]:
    for start in range(0, len(body), SEND_BYTES):
        part = body[start : start + SEND_BYTES]
        yield part
        hop.bytes_out += len(part)


async def _read(
    request: Request, hop: Hop, response: httpcore2.Response, room_bytes: int, scrubber: Scrubber
) -> Answer:
    version: bytes = response.extensions["http_version"]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if version not in _VERSIONS or not 200 <= response.status <= 599:
        raise protocol_error(f"{hop.url.origin} answered {version!r} {response.status}, which was not asked for")
    headers = check_response_headers(response.headers)
    location = next((value for name, value in headers if name == "location"), None)
    if response.status in REDIRECT_STATUSES and location is not None:
        if scrubber.text(location) != location:
            raise denied(f"{hop.url.origin} redirects to a URL that holds the value of a secret")
        return Answer(status=response.status, headers={}, body=bytearray(), location=location.encode("latin-1"))
    has_body = may_have_body(request.method, response.status)
    codings = [value for name, value in headers if name == "content-encoding"]
    decoder = decoder_for(", ".join(codings)) if has_body else None
    length = next((int(value) for name, value in headers if name == "content-length"), 0)
    if has_body and length > _wire_room_bytes(decoder, room_bytes):
        raise too_large(f"{hop.url.origin} announces {length} bytes", room_bytes)
    kept = _Body(hop, room_bytes, scrubber)
    await _read_body(kept, response, decoder)
    shown = readable_headers(scrubber.headers(headers), decoded=decoder is not None or kept.changed)
    return Answer(status=response.status, headers=shown, body=kept.data, location=None)


class _Body:
    """The body as the script will see it: decoded, without secrets, never larger than its room."""

    def __init__(self, hop: Hop, room_bytes: int, scrubber: Scrubber) -> None:
        self.data = bytearray()
        self.origin = hop.url.origin
        self.room_bytes = room_bytes
        self._hop = hop
        self._scrubbing = scrubber.stream()

    @property
    def changed(self) -> bool:
        """Whether a secret was taken out, so that the headers no longer describe the body."""
        return self._scrubbing.found

    def add(self, piece: bytes) -> bool:
        """Take a piece; True if that was work enough to let others have their turn."""
        if self._hop.bytes_in + len(piece) > self.room_bytes:
            raise too_large(f"{self.origin} sends more", self.room_bytes)
        self._hop.bytes_in += len(piece)
        return self._keep(self._scrubbing.feed(piece)) and bool(self._scrubbing)

    def end(self) -> None:
        """Take what was held back."""
        self._keep(self._scrubbing.finish())

    def _keep(self, pieces: Iterable[bytes | bytearray]) -> bool:
        size_bytes = len(self.data)
        for piece in pieces:
            # A handle may be longer than the value that it stands for.
            if len(self.data) + len(piece) > self.room_bytes:
                raise too_large(f"{self.origin} sends more once the secrets in it are replaced", self.room_bytes)
            self.data += piece
        return len(self.data) > size_bytes


async def _read_body(kept: _Body, response: httpcore2.Response, decoder: Decoder | None) -> None:
    wire_room_bytes = _wire_room_bytes(decoder, kept.room_bytes)
    wire_bytes = parts_count = steps_count = 0
    async with aclosing(response.aiter_stream()) as parts:
        async for part in parts:
            wire_bytes += len(part)
            parts_count += 1
            if wire_bytes > wire_room_bytes:
                raise too_large(f"{kept.origin} sends more", kept.room_bytes)
            if parts_count > FREE_PARTS_COUNT and wire_bytes < parts_count * PART_BYTES:
                raise protocol_error(f"{kept.origin} sends {wire_bytes} bytes in {parts_count} parts")
            # The empty piece makes a part that decodes to nothing count as a step.
            for piece in (part,) if decoder is None else chain((b"",), decoder.feed(part)):
                steps_count += 1
                if kept.add(piece) or steps_count % STEPS_COUNT == 0:
                    await anyio.lowlevel.checkpoint()
    if decoder is not None and wire_bytes:
        decoder.finish()
    kept.end()


def _wire_room_bytes(decoder: Decoder | None, room_bytes: int) -> int:
    return room_bytes if decoder is None else room_bytes + RAW_SLACK_BYTES
