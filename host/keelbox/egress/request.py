"""A request as it is allowed to leave: checked, and how a redirect changes it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from keelbox.egress.faults import denied
from keelbox.egress.headers import cross_origin_headers
from keelbox.egress.url import Url, resolve_location

__all__ = ["METHODS", "Request", "redirected"]

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
"""Every method that can be sent: not CONNECT (a tunnel), not TRACE (it echoes)."""

_BODY_HEADERS = frozenset({"content-type", "content-language", "content-location", "content-disposition"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: every part is checked."""

    method: str
    url: Url
    headers: tuple[tuple[str, str], ...] = ()
    """The script's; the host's own are added when it is sent."""
    body: bytes = b""


def redirected(request: Request, status: int, location: bytes) -> Request:
    """The request that follows a redirect (RFC 9110, section 15.4).

    303 turns everything but HEAD into a GET, 301 and 302 only a POST; a body goes with its method. To another origin
    only headers that are known to be harmless go along.

    Raises:
        EgressError: ``denied``: from https to http, or a target that is never allowed; ``protocol-error``: a
            malformed target.
    """
    url = resolve_location(request.url, location)
    if request.url.scheme == "https" and url.scheme == "http":
        raise denied(f"redirect from {request.url.origin} to {url.origin}: from https to http is never allowed")
    following = replace(request, url=url)
    if (status == 303 and request.method != "HEAD") or (status in (301, 302) and request.method == "POST"):
        kept = tuple((name, value) for name, value in request.headers if name.lower() not in _BODY_HEADERS)
        following = replace(following, method="GET", headers=kept, body=b"")
    if url.origin != request.url.origin:
        following = replace(following, headers=cross_origin_headers(following.headers))
    return following
