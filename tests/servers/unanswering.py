"""An address that takes no connection and refuses none."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["unanswering"]


@contextmanager
def unanswering(host: str, port: int) -> Generator[None]:
    """Keep a loopback address and port from answering: its queue of connections is full."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(0)
        for client in (first, second):
            client.setblocking(False)
            client.connect_ex((host, port))
        yield
