"""A loopback HTTP server that does exactly what a test tells it to, also what no server should do.

    with FaultServer(lambda peer: peer.send(b"HTTP/1.1 200 OK\\r\\n\\r\\n")) as server:
        ...  # server.url("/path"), server.requests

Each connection has a thread of its own; leaving the block ends them all and raises what a behaviour raised.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Self, TypeAlias

__all__ = ["Behaviour", "FaultServer", "Peer", "Seen", "head", "response"]

_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request as it arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    """By lower-case name."""
    names: tuple[str, ...]
    """Lower-case names in their order, repeated ones included."""
    body: bytes


class Peer:
    """The server's side of one connection."""

    def __init__(self, server: FaultServer, connection: socket.socket) -> None:
        self._server = server
        self._connection = connection
        self._buffer = b""

    def read_request(self) -> Seen:
        """Read one request with its body, and note it in `FaultServer.requests`."""
        self._read_until(lambda: b"\r\n\r\n" in self._buffer)
        raw_head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = raw_head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        fields = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        length = int(dict(fields).get("content-length", "0"))
        self._read_until(lambda: len(self._buffer) >= length)
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        seen = Seen(
            method=method, target=target, headers=dict(fields), names=tuple(name for name, _ in fields), body=body
        )
        self._server.requests.append(seen)
        return seen

    def send(self, data: bytes) -> None:
        """Send all of it; ends the behaviour if the client has left."""
        self._connection.sendall(data)

    def answer(self, status: int = 200, headers: Mapping[str, str] | None = None, body: bytes = b"") -> None:
        """Read one request and answer it as an honest server does."""
        self.read_request()
        self.send(response(status, headers, body))

    def secure(self, context: ssl.SSLContext) -> None:
        """Go on with TLS."""
        self._connection = context.wrap_socket(self._connection, server_side=True)

    def pause(self, seconds: float) -> None:
        """Be slow; ends the behaviour if the server is stopping."""
        if self._server.stopping.wait(seconds):
            raise ConnectionAbortedError("the server is stopping")

    def wait_until_left(self) -> None:
        """Read and drop until the client closes."""
        while self._connection.recv(65536):
            pass

    def reset(self) -> None:
        """Break the connection without a goodbye."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._connection.close()

    def close(self) -> None:
        """Close the connection, waking a thread that is blocked on it."""
        with contextlib.suppress(OSError):  # Already closed, which is all that is wanted.
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _read_until(self, is_enough: Callable[[], bool]) -> None:
        while not is_enough():
            data = self._connection.recv(65536)
            if not data:
                raise ConnectionAbortedError("the client left")
            self._buffer += data


Behaviour: TypeAlias = Callable[[Peer], None]


class FaultServer:
    """Serves each connection by one behaviour.

    Args:
        behave: called in a thread for each connection; an OSError in it (the client left) is expected.
        tls: speak TLS from the first byte.
        host: loopback address to listen on.
    """

    def __init__(self, behave: Behaviour, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self._behave = behave
        self._tls = tls
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, backlog=1024)
        self._host = f"[{host}]" if ":" in host else host
        self._threads: list[threading.Thread] = []
        self._peers: list[Peer] = []
        self._failures: list[Exception] = []
        self.port: int = self._listener.getsockname()[1]
        self.stopping = threading.Event()
        self.requests: list[Seen] = []

    @property
    def connections_count(self) -> int:
        """How many connections were accepted."""
        return len(self._peers)

    def url(self, target: str = "/", *, host: str | None = None) -> str:
        """A URL of this server."""
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{host or self._host}:{self.port}{target}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listener.close()
        for peer in self._peers:
            peer.close()
        for thread in self._threads[1:]:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            peer = Peer(self, connection)
            self._peers.append(peer)
            self._start(partial(self._serve, peer))

    def _serve(self, peer: Peer) -> None:
        try:
            if self._tls is not None:
                peer.secure(self._tls)
            self._behave(peer)
        except OSError:
            pass  # The client left, or the server is stopping.
        except Exception as error:
            self._failures.append(error)
        finally:
            peer.close()


def head(status: int = 200, headers: Mapping[str, str] | None = None) -> bytes:
    """A response's head."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    return f"HTTP/1.1 {status} Because\r\n{lines}\r\n".encode("latin-1")


def response(status: int = 200, headers: Mapping[str, str] | None = None, body: bytes = b"") -> bytes:
    """A complete response with its true length."""
    return head(status, {**(headers or {}), "Content-Length": str(len(body))}) + body
