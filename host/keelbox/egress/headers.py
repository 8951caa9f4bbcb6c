"""Which headers may go out, and which come in; both counted, sized and checked character by character.

The HTTP library lets a caller set Host, TE and Upgrade and takes 8,000 response headers, so the rule stands here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from keelbox.egress.faults import invalid, protocol_error
from keelbox.egress.url import Url

__all__ = [
    "HEADERS_BYTES",
    "HEADERS_COUNT",
    "check_request_headers",
    "check_response_headers",
    "cross_origin_headers",
    "readable_headers",
    "sent_headers",
]

HEADERS_COUNT = 100
"""Most headers of a request or a response (common servers' default)."""

HEADERS_BYTES = 32 * 1024
"""Most bytes of all header names and values together, four counted for each line's punctuation."""

_LINE_BYTES = 4

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token (RFC 9110, section 5.6.2)."""

_SENT_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
_RECEIVED_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")

_HOST_SETS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "cookie",
        "cookie2",
        "date",
        "expect",
        "forwarded",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
        "x-real-ip",
    }
)
"""Framing, routing and hop-by-hop headers, cookies, and the headers that would turn a GET into another method."""

_HOST_SETS_PREFIXES = ("proxy-", "sec-", "x-forwarded-")

_KEPT_CROSS_ORIGIN = frozenset(
    {
        "accept",
        "accept-language",
        "cache-control",
        "content-language",
        "content-type",
        "if-none-match",
        "range",
        "user-agent",
    }
)
"""What follows a redirect to another origin. By list of what is harmless, since any other header may hold a
credential."""

_NOT_SHOWN = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-connection",
        "set-cookie",
        "set-cookie2",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Response headers of this connection only, and cookies: there is no jar, and a script cannot send them back."""

_OF_THE_CODING = frozenset({"content-encoding", "content-length"})


def check_request_headers(headers: Any) -> tuple[tuple[str, str], ...]:
    """Check the headers that a script gave.

    Raises:
        EgressError: ``request-invalid``: not a mapping of text to text, a name or value that HTTP does not allow, a
            header that the host sets, one name twice, too many or too large.
    """
    if headers is None:
        return ()
    if not isinstance(headers, Mapping):
        raise invalid("the headers are not an object")
    items = list(cast("Mapping[object, object]", headers).items())
    if len(items) > HEADERS_COUNT:
        raise invalid(f"there are more than {HEADERS_COUNT} headers", f"{len(items)} headers")
    checked: list[tuple[str, str]] = []
    seen: set[str] = set()
    size_bytes = 0
    for name, value in items:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise invalid("a header name is not valid", f"header name {str(name)[:80]!r}")
        if not isinstance(value, str) or not _SENT_VALUE.fullmatch(value):
            raise invalid(
                "a header value is not valid (visible ASCII text, not empty, no line breaks)",
                f"value of header {name[:80]!r}",
            )
        folded = name.lower()
        if folded in _HOST_SETS:
            raise invalid(f"the header {folded} is set by the host only")
        if folded.startswith(_HOST_SETS_PREFIXES):
            raise invalid(
                f"headers that begin with {', '.join(_HOST_SETS_PREFIXES)} are set by the host only",
                f"header {name[:80]!r}",
            )
        if folded in seen:
            raise invalid("a header is given twice", f"header {name[:80]!r}")
        seen.add(folded)
        checked.append((name, value))
        size_bytes += len(name) + len(value) + _LINE_BYTES
    if size_bytes > HEADERS_BYTES:
        raise invalid(f"the headers are larger than {HEADERS_BYTES} bytes", f"headers of {size_bytes} bytes")
    return tuple(checked)


def sent_headers(
    url: Url, method: str, headers: Iterable[tuple[str, str]], body_bytes_count: int
) -> list[tuple[bytes, bytes]]:
    """The complete header list of one request: the host's own, then the script's."""
    own = [("Host", url.authority), ("Accept-Encoding", "gzip, deflate"), ("Connection", "close")]
    if body_bytes_count or method in ("POST", "PUT", "PATCH"):
        own.append(("Content-Length", str(body_bytes_count)))
    given = list(headers)
    names = {name.lower() for name, _ in given}
    own.extend(
        (name, value) for name, value in (("Accept", "*/*"), ("User-Agent", "keelbox")) if name.lower() not in names
    )
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in (*own, *given)]


def cross_origin_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """What is left of a request's headers when a redirect leads to another origin."""
    return tuple((name, value) for name, value in headers if name.lower() in _KEPT_CROSS_ORIGIN)


def check_response_headers(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """Check what a server sent.

    Returns:
        Names in lower case, and values, byte for character.

    Raises:
        EgressError: ``protocol-error``: too many, too large, a control character, or both a length and chunks.
    """
    if len(headers) > HEADERS_COUNT:
        raise protocol_error(f"the response has {len(headers)} headers, more than {HEADERS_COUNT}")
    size_bytes = sum(len(name) + len(value) + _LINE_BYTES for name, value in headers)
    if size_bytes > HEADERS_BYTES:
        raise protocol_error(f"the response's headers are {size_bytes} bytes, more than {HEADERS_BYTES}")
    for name, value in headers:
        if _RECEIVED_CONTROL.search(value):
            raise protocol_error(f"response header {name[:80]!r} has a control character")
    checked = [(name.decode("ascii").lower(), value.decode("latin-1")) for name, value in headers]
    names = {name for name, _ in checked}
    if {"content-length", "transfer-encoding"} <= names:
        raise protocol_error("the response has both Content-Length and Transfer-Encoding")
    return checked


def readable_headers(headers: Iterable[tuple[str, str]], *, decoded: bool) -> dict[str, str]:
    """The response headers that a script sees: one value a name, several joined by a comma (RFC 9110, section 5.3).

    Args:
        headers: from `check_response_headers`.
        decoded: whether a content coding was taken off, so that its headers no longer describe the body.
    """
    shown: dict[str, str] = {}
    for name, value in headers:
        if name in _NOT_SHOWN or (decoded and name in _OF_THE_CODING):
            continue
        shown[name] = f"{shown[name]}, {value}" if name in shown else value
    return shown
