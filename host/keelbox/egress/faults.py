"""What can go wrong on the way out: the closed set of codes that a script may see, with their fixed texts.

A script sees `EgressError.code` and `EgressError.message`, and nothing else. All denials look alike to it, so that it
learns nothing about the network behind the wall. The operator reads `EgressError.detail` in the run's certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

__all__ = ["REDIRECTS_COUNT", "EgressCode", "EgressError"]

REDIRECTS_COUNT = 3
"""Most redirects that are followed for one op; each is a new request under the full rule."""


class EgressCode(StrEnum):
    """Why a request has no usable response."""

    DENIED = "denied"
    """Any rule: scheme, host, port, address, method, user name in the URL. Host denials never touch the network."""
    REQUEST_INVALID = "request-invalid"
    """The URL, method, a header, the body or the time limit is malformed; nothing touched the network."""
    DNS_FAILED = "dns-failed"
    CONNECT_FAILED = "connect-failed"
    TLS_FAILED = "tls-failed"
    PROTOCOL_ERROR = "protocol-error"
    """The connection broke, or what came back is not strict HTTP."""
    TIMEOUT = "timeout"
    RESPONSE_TOO_LARGE = "response-too-large"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    TOO_MANY_REQUESTS = "too-many-requests"
    """The operator's limit for a minute; the sandbox uses the same code for the run's ``requests_count``."""


_TEXTS: Mapping[EgressCode, str] = {
    EgressCode.DENIED: "the request is not allowed by the egress rules of this tool",
    EgressCode.REQUEST_INVALID: "the request is not valid",
    EgressCode.DNS_FAILED: "the host name could not be resolved",
    EgressCode.CONNECT_FAILED: "no connection to the server could be made",
    EgressCode.TLS_FAILED: "no trusted TLS connection to the server could be made",
    EgressCode.PROTOCOL_ERROR: "the connection broke, or the answer is not valid HTTP",
    EgressCode.TIMEOUT: "no complete answer came within the time limit",
    EgressCode.RESPONSE_TOO_LARGE: "the response is larger than the exchange buffer (buffer_mib)",
    EgressCode.TOO_MANY_REDIRECTS: f"the server redirected more than {REDIRECTS_COUNT} times",
    EgressCode.TOO_MANY_REQUESTS: "too many requests were made within a minute; try again later",
}


class EgressError(Exception):
    """A request that has no usable response.

    Attributes:
        code: for the script.
        message: for the script; a fixed text, for `EgressCode.REQUEST_INVALID` followed by a fixed reason.
        detail: for the operator: rule, host, address, next step. Never shown to the script.
    """

    def __init__(self, code: EgressCode, detail: str, *, reason: str | None = None) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.message = _TEXTS[code] if reason is None else f"{_TEXTS[code]}: {reason}"
        self.detail = detail


def denied(detail: str) -> EgressError:
    """A fault for any rule that says no; the script cannot tell one from another."""
    return EgressError(EgressCode.DENIED, detail)


def invalid(reason: str, detail: str | None = None) -> EgressError:
    """A fault of the author's request.

    Args:
        reason: fixed text that the script sees.
        detail: for the operator, with the value; the reason if None.
    """
    return EgressError(EgressCode.REQUEST_INVALID, detail or reason, reason=reason)


def protocol_error(detail: str) -> EgressError:
    """A fault of the server's answer."""
    return EgressError(EgressCode.PROTOCOL_ERROR, detail)


def too_large(what: str, room_bytes: int) -> EgressError:
    """A fault of a body that does not fit.

    Args:
        what: who sends how much.
        room_bytes: the size of the exchange buffer.
    """
    return EgressError(
        EgressCode.RESPONSE_TOO_LARGE,
        f"{what}; the exchange buffer has {room_bytes}; raise buffer_mib, or ask for less",
    )
