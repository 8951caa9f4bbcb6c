"""The pinned network backend: connects to checked addresses only, and knows whether a request byte may have left.

The HTTP library is given a URL with its real host, so Host, SNI and the certificate's name stay that host's; but each
connection that it opens comes from here, and goes to an address that was judged before.

Importing this module imports the HTTP library and TLS; import it where a connection is about to be made.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Any

import anyio
import httpcore2
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.streams.tls import TLSAttribute, TLSStream

from keelbox.egress.address import IPAddress
from keelbox.egress.faults import EgressCode, EgressError, denied, protocol_error
from keelbox.egress.trail import Hop, Stage

__all__ = ["HEAD_BYTES", "PinnedBackend"]

ATTEMPT_S = 3.0
"""Longest wait for one address while others are left to try; the last one may take what is left of the deadline."""

HEAD_BYTES = 64 * 1024
"""Most bytes before the end of the response's head, informational responses included: twice `headers.HEADERS_BYTES`."""

HEAD_READ_BYTES = 8 * 1024
"""Most bytes of one read before the response has begun: 8 KiB of informational responses keep the event loop busy for
some 10 ms, and it serves the other runs between two reads."""


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Opens one connection for one hop. `aclose` it whatever happened."""

    def __init__(self, hop: Hop, addresses: Sequence[IPAddress], port: int) -> None:
        self._hop = hop
        self._addresses = addresses
        self._port = port
        self._socket: SocketStream | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (the library's signature)
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Try the checked addresses in turn. The arguments are the library's view of the URL and decide nothing."""
        failures: list[str] = []
        for index, address in enumerate(self._addresses):
            is_last = index == len(self._addresses) - 1
            failure = f"no answer in {ATTEMPT_S} s"
            with anyio.move_on_after(None if is_last else ATTEMPT_S):
                try:
                    self._socket = await anyio.connect_tcp(str(address), self._port)
                except OSError as error:
                    failure = str(error.__cause__ or error)
            if self._socket is not None:
                if self._reaches(self._socket, address):
                    self._hop.address = str(address)
                    return PinnedStream(self._hop, self._socket, self._socket)
                await self.aclose()
                failure = "the connection broke at once"
            failures.append(f"{address}: {failure}")
        raise EgressError(
            EgressCode.CONNECT_FAILED,
            f"host {self._hop.url.host!r}, port {self._port}: no connection ({'; '.join(failures)})",
        )

    async def aclose(self) -> None:
        """Close the connection at once, if there is one."""
        if self._socket is not None:
            await anyio.aclose_forcefully(self._socket)
            self._socket = None

    def _reaches(self, stream: SocketStream, address: IPAddress) -> bool:
        """Whether a connection has the peer that was checked; False if it broke before that could be seen."""
        peer = stream.extra(SocketAttribute.remote_address, None)  # noqa: S610 (no SQL here)
        if peer is None:
            return False
        if not isinstance(peer, tuple) or ip_address(peer[0]) != address or peer[1] != self._port:
            raise denied(f"host {self._hop.url.host!r}: the connection to {address} reached {peer} instead")
        return True


class PinnedStream(httpcore2.AsyncNetworkStream):
    """One connection, plain or with TLS. The deadline is the caller's cancel scope, so per-call timeouts are not
    used."""

    def __init__(self, hop: Hop, socket: SocketStream, stream: ByteStream) -> None:
        self._hop = hop
        self._socket = socket
        self._stream = stream
        self._head_bytes_left = HEAD_BYTES

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Receive some bytes; empty at the end."""
        if self._hop.stage is not Stage.ANSWERED:
            if self._head_bytes_left <= 0:
                raise protocol_error(f"{self._hop.url.origin}: no response began within {HEAD_BYTES} bytes")
            max_bytes = min(max_bytes, HEAD_READ_BYTES)
        try:
            data = await self._stream.receive(max_bytes)
        except anyio.EndOfStream:
            return b""
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError, OSError) as error:
            raise httpcore2.ReadError(f"{error.__cause__ or error or type(error).__name__}") from error
        self._head_bytes_left -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Send all bytes. From the first call on, some of the request may have left."""
        if not buffer:
            return
        self._hop.stage = Stage.SENDING
        try:
            await self._stream.send(buffer)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError, OSError) as error:
            raise httpcore2.WriteError(f"{error.__cause__ or error or type(error).__name__}") from error

    async def aclose(self) -> None:
        """Close at once: no TLS goodbye, which would wait for the peer."""
        await anyio.aclose_forcefully(self._socket)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        """Make the TLS connection; the certificate must be for the URL's host."""
        self._hop.stage = Stage.SECURING
        try:
            # standard_compatible: an end without TLS's goodbye is then an error and not the end of the body.
            stream = await TLSStream.wrap(
                self._stream,
                server_side=False,
                hostname=self._hop.url.host,
                ssl_context=ssl_context,
                standard_compatible=True,
            )
        except ssl.SSLCertVerificationError as error:
            raise self._tls_failed(error.verify_message) from None
        except (anyio.BrokenResourceError, anyio.EndOfStream, ssl.SSLError, OSError) as error:
            raise self._tls_failed(f"{error.__cause__ or error or 'the connection was closed'}") from None
        return PinnedStream(self._hop, self._socket, stream)

    def get_extra_info(self, info: str) -> Any:
        """What the HTTP library asks of a stream: only whether HTTP/2 was agreed on."""
        if info != "ssl_object":
            return None
        return self._stream.extra(TLSAttribute.ssl_object, None)  # noqa: S610

    def _tls_failed(self, reason: str) -> EgressError:
        return EgressError(
            EgressCode.TLS_FAILED,
            f"host {self._hop.url.host!r}, address {self._hop.address}: {reason}; "
            "for a private certificate authority give its CA file",
        )
