"""Content codings, taken off in small bounded steps.

A general HTTP client's decoder gave 67 MB in one step for 190 KB of gzip. Here a step gives at most `STEP_BYTES`, so
whoever reads can stop as soon as there is no room.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Literal, TypeAlias

from keelbox.egress.faults import protocol_error

__all__ = ["STEP_BYTES", "Decoder", "decoder_for"]

STEP_BYTES = 64 * 1024
"""Most bytes that one step gives."""

MEMBERS_COUNT = 1024
"""Most members of one gzip body: an honest one has a few, a flood of empty ones costs time and carries nothing."""

_GZIP_MAGIC = b"\x1f\x8b"
_MAGIC_BYTES = 2

_Stream: TypeAlias = "zlib._Decompress"  # pyright: ignore[reportPrivateUsage]


def decoder_for(content_encoding: str | None) -> Decoder | None:
    """The decoder for a Content-Encoding value; None where there is nothing to decode.

    Raises:
        EgressError: ``protocol-error``: a coding that was not asked for, or more than one.
    """
    coding = (content_encoding or "identity").strip(" \t").lower()
    if coding == "identity":
        return None
    if coding in ("gzip", "x-gzip"):
        return Decoder("gzip")
    if coding == "deflate":
        return Decoder("deflate")
    raise protocol_error(f"the response has the content coding {coding[:80]!r}; only gzip and deflate were asked for")


class Decoder:
    """Turns the bytes of one coded body into body bytes."""

    def __init__(self, coding: Literal["gzip", "deflate"]) -> None:
        self._coding = coding
        self._stream: _Stream | None = None
        self._streams_count = 0
        self._pending = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give what ``data`` decodes to, in steps.

        Raises:
            EgressError: ``protocol-error``: not the coding that was announced, or bytes after its end.
        """
        data = self._pending + data
        self._pending = b""
        while data or self._stream is not None:
            if self._stream is None:
                if len(data) < _MAGIC_BYTES:
                    self._pending = data
                    return
                self._stream = self._start(data)
            try:
                piece = self._stream.decompress(data, STEP_BYTES)
            except zlib.error as error:
                raise protocol_error(f"the response's {self._coding} coding is broken: {error}") from None
            if piece:
                yield piece
            if self._stream.eof:
                data = self._stream.unused_data
                self._stream = None
            else:
                data = self._stream.unconsumed_tail
                # zlib may hold back output with all input consumed; a short step shows that it holds none.
                if not data and len(piece) < STEP_BYTES:
                    return

    def finish(self) -> None:
        """Say that no more comes.

        Raises:
            EgressError: ``protocol-error``: the coding is cut off.
        """
        if self._stream is not None or self._pending:
            raise protocol_error(f"the response's {self._coding} coding is cut off")

    def _start(self, data: bytes) -> _Stream:
        self._streams_count += 1
        if self._coding == "gzip":
            # Several members one after another are one body (RFC 1952, section 2.2).
            if not data.startswith(_GZIP_MAGIC):
                raise protocol_error("the response is announced as gzip and is not, or goes on after its end")
            if self._streams_count > MEMBERS_COUNT:
                raise protocol_error(f"the response has more than {MEMBERS_COUNT} gzip members")
            return zlib.decompressobj(16 + zlib.MAX_WBITS)
        if self._streams_count > 1:
            raise protocol_error("the response goes on after the end of its deflate coding")
        # RFC 9110, section 8.4.1.2 means the zlib form; some servers send bare deflate.
        is_zlib = data[0] & 0x0F == zlib.DEFLATED and (data[0] << 8 | data[1]) % 31 == 0
        return zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
