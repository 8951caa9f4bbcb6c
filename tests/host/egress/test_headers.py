"""Header lists, going out and coming in. The hostile forms have their tests in tests/security."""

from __future__ import annotations

import pytest

from keelbox.egress.faults import EgressCode, EgressError
from keelbox.egress.headers import (
    HEADERS_BYTES,
    HEADERS_COUNT,
    check_request_headers,
    check_response_headers,
    cross_origin_headers,
    readable_headers,
    sent_headers,
)
from keelbox.egress.url import parse_url

URL = parse_url("https://example.com/")


def test_script_headers_go_out_as_they_were_written() -> None:
    checked = check_request_headers({"X-Api-Key": "a b\tc", "accept": "text/html"})
    sent = sent_headers(URL, "GET", checked, 0)
    assert (b"X-Api-Key", b"a b\tc") in sent
    assert [value for name, value in sent if name.lower() == b"accept"] == [b"text/html"]


def test_host_sets_what_frames_and_routes_the_request() -> None:
    sent = dict(sent_headers(parse_url("http://example.com:8080/"), "POST", (), 0))
    assert sent[b"Host"] == b"example.com:8080"
    assert sent[b"Connection"] == b"close"
    assert sent[b"Content-Length"] == b"0"


def test_bodiless_get_has_no_length() -> None:
    assert b"Content-Length" not in dict(sent_headers(URL, "GET", (), 0))


@pytest.mark.parametrize("headers", [["a"], "a: b", 1, {"a": 1}, {"a": None}, {"a": ["b"]}])
def test_headers_of_a_wrong_type_are_invalid(headers: object) -> None:
    with pytest.raises(EgressError) as caught:
        check_request_headers(headers)
    assert caught.value.code is EgressCode.REQUEST_INVALID


def test_one_name_in_two_cases_is_invalid() -> None:
    with pytest.raises(EgressError, match="'accept'"):
        check_request_headers({"Accept": "a", "accept": "b"})


def test_header_bytes_are_counted_to_the_limit() -> None:
    fitting = "x" * (HEADERS_BYTES - len("a") - 4)
    assert check_request_headers({"a": fitting}) == (("a", fitting),)
    with pytest.raises(EgressError):
        check_request_headers({"a": fitting + "x"})


def test_response_headers_are_counted_to_the_limit() -> None:
    assert len(check_response_headers([(b"a", b"b")] * HEADERS_COUNT)) == HEADERS_COUNT
    with pytest.raises(EgressError):
        check_response_headers([(b"a", b"b")] * (HEADERS_COUNT + 1))
    assert check_response_headers([(b"a", b"x" * (HEADERS_BYTES - 5))])
    with pytest.raises(EgressError):
        check_response_headers([(b"a", b"x" * (HEADERS_BYTES - 4))])


def test_repeated_response_header_is_one_value() -> None:
    received = check_response_headers([(b"Vary", b"a"), (b"VARY", b"b"), (b"X", b"\xe9")])
    assert readable_headers(received, decoded=False) == {"vary": "a, b", "x": "é"}


def test_cookies_and_hop_by_hop_headers_are_not_shown() -> None:
    received = [("set-cookie", "a=b"), ("connection", "close"), ("transfer-encoding", "chunked"), ("etag", "x")]
    assert readable_headers(received, decoded=False) == {"etag": "x"}


def test_headers_of_a_coding_go_with_the_coding() -> None:
    received = [("content-encoding", "gzip"), ("content-length", "9")]
    assert readable_headers(received, decoded=True) == {}
    assert readable_headers(received, decoded=False) == dict(received)


def test_only_harmless_headers_cross_an_origin() -> None:
    given = (("Accept", "a"), ("Content-Type", "b"), ("Authorization", "c"), ("X-Api-Key", "d"), ("X-Anything", "e"))
    assert cross_origin_headers(given) == (("Accept", "a"), ("Content-Type", "b"))
