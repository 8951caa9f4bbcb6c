"""The one TLS setting: the peer is always verified, and nothing in the environment changes that.

``ssl.create_default_context`` is not used: it opens the file that SSLKEYLOGFILE names, and its default certificates
come from SSL_CERT_FILE and SSL_CERT_DIR.
"""

from __future__ import annotations

import re
import ssl
from functools import lru_cache
from pathlib import Path

from keelbox.egress.faults import EgressCode, EgressError

__all__ = ["client_context"]

_SYSTEM_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where distributions keep the system's certificates, for interpreters whose own OpenSSL looks elsewhere."""

_HASHED_NAME = re.compile(r"[0-9a-f]{8}\.[0-9]+")


def client_context(ca_file: Path | None) -> ssl.SSLContext:
    """The context for connections out: TLS 1.2 or newer, certificate and name checked.

    Args:
        ca_file: certificates to trust instead of the system's.

    Raises:
        EgressError: ``tls-failed``: there are no certificates to trust.
    """
    if ca_file is None:
        return _context(None, 0)
    try:
        changed_ns = ca_file.stat().st_mtime_ns
    except OSError as error:
        raise _no_trust(f"CA file {ca_file} cannot be read: {error.strerror}") from None
    return _context(ca_file, changed_ns)


@lru_cache(maxsize=8)
def _context(ca_file: Path | None, changed_ns: int) -> ssl.SSLContext:
    """Loading a file of all certificates takes some 50 ms, so a context is kept; it holds no session of any connection.

    Args:
        ca_file: as above.
        changed_ns: when it was last changed, so that a new file is loaded anew.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A body that ends with its connection may have been cut off by anybody, unless TLS itself says goodbye.
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise _no_trust(f"CA file {ca_file} holds no certificates: {error}") from None
        return context
    own = ssl.get_default_verify_paths()
    file = own.openssl_cafile if Path(own.openssl_cafile).is_file() else None
    folder = own.openssl_capath if _is_indexed(Path(own.openssl_capath)) else None
    if file is None and folder is None:
        file = next((name for name in _SYSTEM_FILES if Path(name).is_file()), None)
        if file is None:
            raise _no_trust("this system has no CA certificates; install ca-certificates, or give a CA file")
    context.load_verify_locations(cafile=file, capath=folder)
    return context


def _is_indexed(folder: Path) -> bool:
    """Whether OpenSSL finds certificates in a folder: by files named after hashes, read when one is needed."""
    return folder.is_dir() and any(_HASHED_NAME.fullmatch(entry.name) for entry in folder.iterdir())


def _no_trust(detail: str) -> EgressError:
    return EgressError(EgressCode.TLS_FAILED, detail)
