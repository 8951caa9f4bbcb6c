"""Which request a cassette's exchange is for, and how a difference is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keelbox.egress.cassette import SentRequest, is_json
from keelbox.egress.cassette_match import difference, matches
from keelbox.egress.url import parse_url

JSON = {"content-type": "application/json"}


def request(
    url: str = "https://a.example/x?a=1&b=2",
    *,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    json_value: Any = None,
) -> SentRequest:
    headers = headers or {}
    if json_value is not None:
        headers, body = headers | JSON, json.dumps(json_value).encode()
    return SentRequest(method=method, url=parse_url(url), headers=headers, body=body, body_is_json=is_json(headers))


@pytest.mark.parametrize(
    ("held", "asked"),
    [
        (request(), request()),
        (request("https://A.example:443/x?a=1&b=2#f"), request()),
        (request(headers={"a": "1", "b": "2"}), request(headers={"b": "2", "a": "1"})),
        (request(headers={"idempotency-key": "*"}), request(headers={"idempotency-key": "0d5c"})),
        (request(json_value={"a": 1, "b": [1, 2]}), request(headers=JSON, body=b'{"b":[1.0,2],\n"a":1}')),
        (request(body=b"\xff"), request(body=b"\xff")),
    ],
)
def test_same_request_matches(held: SentRequest, asked: SentRequest) -> None:
    assert matches(held, asked)


@pytest.mark.parametrize(
    ("held", "asked"),
    [
        (request(), request(method="PUT")),
        (request(), request("https://b.example/x?a=1&b=2")),
        (request(), request("https://a.example/x?b=2&a=1")),
        (request(), request("https://a.example/x?a=1")),
        (request(), request(headers={"a": "1"})),
        (request(headers={"a": "1"}), request()),
        (request(headers={"a": "*"}), request()),
        (request(headers={"a": "1"}), request(headers={"a": "2"})),
        (request(headers={"a": "1"}), request(headers={"a": "*"})),
        (request(body=b"a"), request(body=b"b")),
        (request(body=b"a"), request()),
        (request(body=b'{"a":1}'), request(body=b'{"a": 1}')),
        (request(json_value=[1]), request(json_value=[True])),
        (request(json_value=[1, 2]), request(json_value=[2, 1])),
        (request(json_value={"a": None}), request(json_value={"b": None})),
        (request(json_value=[1]), request(headers=JSON, body=b"[1")),
        (request(json_value=[1]), request(headers=JSON, body=b'[1,{"a":1,"a":2}]')),
    ],
)
def test_other_request_does_not_match_and_the_difference_is_shown(held: SentRequest, asked: SentRequest) -> None:
    assert not matches(held, asked)
    lines = difference(held, asked).split("\n")
    assert any(line.startswith(("- ", "+ ")) for line in lines)


def test_difference_of_a_parameter_is_one_line() -> None:
    assert difference(request(headers={"b": "1"}), request("https://a.example/x?a=1&b=3", headers={"b": "1"})) == (
        "  POST https://a.example/x\n    ?a=1\n-   &b=2\n+   &b=3\n  b: 1"
    )


def test_difference_of_json_is_shown_by_field() -> None:
    old, new = request(json_value={"from": "Sofia", "to": "Varna"}), request(json_value={"from": "Sofia", "to": "Ruse"})
    shown = difference(old, new)
    assert '-   "to": "Varna"\n+   "to": "Ruse"' in shown
    assert '\n    "from": "Sofia",\n' in shown


def test_header_with_any_value_is_no_difference() -> None:
    shown = difference(request(headers={"x-key": "*"}), request(method="PUT", headers={"x-key": "hidden"}))
    assert "  x-key: *" in shown.split("\n")
    assert "hidden" not in shown


def test_bytes_are_shown_by_size_and_digest() -> None:
    shown = difference(request(body=b"\xff" * 10), request(body=b"\xfe" * 12))
    assert "- 10 bytes, sha256 " in shown
    assert "+ 12 bytes, sha256 " in shown


def test_unexpected_request_is_shown_whole() -> None:
    assert difference(None, request(body=b"one\ntwo")) == (
        "+ POST https://a.example/x\n+   ?a=1\n+   &b=2\n+ one\n+ two"
    )


def test_difference_of_large_bodies_is_short_and_never_empty() -> None:
    """10 MiB that differ in the last byte: the diff must neither take minutes nor say nothing."""
    body = b"word\n" * 2_000_000
    shown = difference(request(body=body + b"1"), request(body=body + b"2"))
    assert "- … a body of 10000001 bytes that differs further on" in shown
    assert len(shown) < 10_000
