"""What is written as a cassette can be read by a person, and is read back to the same bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keelbox.egress.cassette import FATES, Exchange, Failure, Response, SentRequest, is_json
from keelbox.egress.cassette_file import parse_cassette
from keelbox.egress.cassette_text import cassette_text
from keelbox.egress.faults import EgressCode
from keelbox.egress.url import parse_url
from keelbox.outcome import Fate

URL = parse_url("https://api.example.com/v1/cities?name=Sofia&count=1")
JSON_HEADERS = {"content-type": "application/json; charset=utf-8"}

body_texts = st.text() | st.text(st.sampled_from("ab \t\n\r#:-'\"\\|>{}[]\u0085\u2028\ufeff🎉é\x00\x7f"))
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | body_texts.filter(lambda text: "\r" not in text)
    | st.sampled_from(["null", "no", "~", "1e3", "0x1", ".5", "a: b"]),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(body_texts, children, max_size=4),
    max_leaves=12,
)
bodies = (
    st.binary()
    | body_texts.map(lambda text: text.encode("utf-8", "replace"))
    | json_values.map(
        lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    )
    | json_values.map(lambda value: json.dumps(value).encode())
)
header_values = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"))
response_headers = st.dictionaries(
    st.text(st.sampled_from("abcxyz0123456789-_.!"), min_size=1).map(lambda name: f"x{name}"), header_values, max_size=3
)


def read_back(exchange: Exchange) -> Exchange:
    (found,) = parse_cassette(cassette_text([exchange]), "f").exchanges
    return found


@settings(max_examples=400, deadline=None)
@given(body=bodies, headers=response_headers, as_json=st.booleans())
def test_any_exchange_is_read_back_to_the_same_bytes(body: bytes, headers: dict[str, str], as_json: bool) -> None:
    request = SentRequest(
        method="POST", url=URL, headers=JSON_HEADERS if as_json else {}, body=body, body_is_json=as_json
    )
    response = Response(status=200, headers=headers, body=body, body_is_json=as_json)

    found = read_back(Exchange(request=request, result=response))

    assert isinstance(found.result, Response)
    assert (found.request.body, found.result.body, found.result.headers) == (body, body, headers)
    assert (found.request.method, found.request.url, found.request.headers) == ("POST", URL, request.headers)


@pytest.mark.parametrize("code", list(FATES))
@pytest.mark.parametrize("fate", list(Fate))
def test_failure_is_read_back(code: EgressCode, fate: Fate) -> None:
    failure = Failure(code=code, fate=fate, status=502)
    assert read_back(Exchange(request=SentRequest(method="GET", url=URL), result=failure)).result == failure


@pytest.mark.parametrize(
    "value",
    [
        {"k" * 129: 1},
        {"a": ["x" * 20_000]},
        [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]],
        "only a text",
        5,
        {"a": {}, "b": [], "": None},
    ],
)
def test_json_that_is_no_good_as_yaml_is_read_back(value: Any) -> None:
    body = json.dumps(value, separators=(",", ":")).encode()
    response = Response(status=200, headers=JSON_HEADERS, body=body, body_is_json=True)
    assert read_back(Exchange(request=SentRequest(method="GET", url=URL), result=response)).result.body == body  # type: ignore[union-attr]


def test_long_header_name_is_read_back() -> None:
    response = Response(status=200, headers={"x" * 5000: "1"})
    assert read_back(Exchange(request=SentRequest(method="GET", url=URL), result=response)).result == response


def test_order_of_exchanges_stays() -> None:
    urls = [parse_url(f"https://example.com/{number}") for number in range(3)]
    result = Response(status=204)
    exchanges = [Exchange(request=SentRequest(method="GET", url=url), result=result) for url in urls]
    read = parse_cassette(cassette_text(exchanges), "f").exchanges
    assert [exchange.request.url for exchange in read] == urls


def test_run_without_requests_has_a_cassette_too() -> None:
    assert parse_cassette(cassette_text([]), "f").exchanges == ()


def test_json_answer_reads_like_yaml() -> None:
    body = '{"results":[{"name":"Sofia","at":[42.7,23.3]}],"note":"°C is 100% fine","no":null}'.encode()
    text = cassette_text(
        [
            Exchange(
                request=SentRequest(method="GET", url=URL, headers={"user-agent": "a tool"}),
                result=Response(status=200, headers=JSON_HEADERS, body=body, body_is_json=is_json(JSON_HEADERS)),
            )
        ]
    )
    assert text.partition("exchanges:\n")[2] == (
        "  - request:\n"
        "      method: GET\n"
        "      url: https://api.example.com/v1/cities?name=Sofia&count=1\n"
        "      headers:\n"
        "        user-agent: a tool\n"
        "    response:\n"
        "      status: 200\n"
        "      headers:\n"
        '        content-type: "application/json; charset=utf-8"\n'
        "      json:\n"
        "        results:\n"
        "          - name: Sofia\n"
        "            at: [42.7, 23.3]\n"
        '        note: "°C is 100% fine"\n'
        '        "no": null\n'
    )


def test_text_is_a_block_and_bytes_are_base64() -> None:
    exchange = Exchange(
        request=SentRequest(method="POST", url=URL, body=b'{"spaced": true}'),
        result=Response(status=200, body=b"\xff\x00" * 40),
    )
    text = cassette_text([exchange])
    assert '      text: |-\n        {"spaced": true}\n' in text
    assert "      base64: |\n        /wD/AP8A" in text
    assert max(map(len, text.splitlines()[2:])) < 100
