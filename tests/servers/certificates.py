"""Certificates for TLS tests, made when they are first needed."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import trustme

__all__ = ["HOST", "authority", "ca_file", "server_context"]

HOST = "api.test"


@cache
def authority() -> trustme.CA:
    """The certificate authority that tests trust."""
    return trustme.CA()


@cache
def ca_file() -> Path:
    """Its certificate as a file."""
    path = Path(mkdtemp(prefix="keelbox-ca-")) / "ca.pem"
    authority().cert_pem.write_to_path(str(path))
    return path


def server_context(
    *names: str, by: trustme.CA | None = None, not_after: datetime | None = None, common_name: str | None = None
) -> ssl.SSLContext:
    """A server's TLS context with a certificate for these names.

    Args:
        names: host names or addresses; `HOST` if none is given.
        by: who signs it; `authority` if None.
        not_after: when it expires; far away if None.
        common_name: a name that is not among the certificate's alternative names.
    """
    certificate = (by or authority()).issue_cert(
        *(names or (HOST,)), common_name=common_name, not_after=not_after or datetime(2099, 1, 1, tzinfo=UTC)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)  # pyright: ignore[reportUnknownMemberType]
    return context
