"""How a redirect changes a request (RFC 9110, section 15.4)."""

from __future__ import annotations

import pytest

from keelbox.egress.faults import EgressCode, EgressError
from keelbox.egress.request import Request, redirected
from keelbox.egress.url import parse_url

HEADERS = (("Content-Type", "text/plain"), ("Authorization", "Bearer x"), ("Accept", "*/*"))


def request(method: str) -> Request:
    return Request(method=method, url=parse_url("https://a.com/x"), headers=HEADERS, body=b"body")


@pytest.mark.parametrize(
    ("status", "method", "expected"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "DELETE", "GET"),
        (301, "PUT", "PUT"),
        (302, "DELETE", "DELETE"),
        (307, "POST", "POST"),
        (308, "PATCH", "PATCH"),
        (301, "GET", "GET"),
        (303, "HEAD", "HEAD"),
        (302, "HEAD", "HEAD"),
        (303, "GET", "GET"),
    ],
)
def test_method_after_a_redirect(status: int, method: str, expected: str) -> None:
    assert redirected(request(method), status, b"/y").method == expected


def test_body_and_its_headers_go_with_the_method() -> None:
    following = redirected(request("POST"), 303, b"/y")
    assert following.body == b""
    assert following.headers == (("Authorization", "Bearer x"), ("Accept", "*/*"))


def test_kept_method_keeps_its_body() -> None:
    following = redirected(request("POST"), 307, b"/y")
    assert (following.body, following.headers) == (b"body", HEADERS)


@pytest.mark.parametrize("location", [b"https://b.com/", b"https://a.com:8443/", b"//sub.a.com/"])
def test_credentials_stay_with_their_origin(location: bytes) -> None:
    following = redirected(request("POST"), 307, location)
    assert following.headers == (("Content-Type", "text/plain"), ("Accept", "*/*"))


def test_https_never_becomes_http() -> None:
    with pytest.raises(EgressError) as caught:
        redirected(request("GET"), 302, b"http://a.com/")
    assert caught.value.code is EgressCode.DENIED
