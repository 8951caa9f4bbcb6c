"""A cassette that a person writes: what it may hold, and how its faults are told."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from keelbox.egress.cassette import FATES, Exchange, Failure, Response
from keelbox.egress.cassette_file import parse_cassette, read_cassette
from keelbox.egress.faults import EgressCode
from keelbox.errors import ConfigError
from keelbox.outcome import Fate

GET = "{method: GET, url: https://a.example/}"


def only(request: str = GET, result: str = "response: {status: 200}") -> Exchange:
    text = f"cassette: 1\nexchanges:\n  - request: {request}\n    {result}\n"
    (exchange,) = parse_cassette(text, "c.yaml").exchanges
    return exchange


def body_of(fields: str) -> bytes:
    result = only(result=f"response: {{status: 200, {fields}}}").result
    assert isinstance(result, Response)
    return result.body


def refused(**parts: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        only(**parts)
    return [str(fault) for fault in caught.value.faults]


def test_request_is_brought_into_its_canonical_form() -> None:
    request = only("{method: PUT, url: 'HTTPS://A.Example:443/x/../y?q=é#f', headers: {X-One: '1'}}").request
    assert (request.method, str(request.url)) == ("PUT", "https://a.example/y?q=%C3%A9")
    assert request.headers == {"x-one": "1"}


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ("text: 'zażółć'", "zażółć".encode()),
        ("text: ''", b""),
        ("json: {b: [1, 2.5], a: null}", b'{"b":[1,2.5],"a":null}'),
        ("json: null", b"null"),
        ("json: 'x'", b'"x"'),
        ("base64: /wD/", b"\xff\x00\xff"),
        ("base64: '/w\n      D/'", b"\xff\x00\xff"),
    ],
)
def test_body_has_one_of_three_forms(fields: str, body: bytes) -> None:
    assert body_of(fields) == body


def test_headers_of_the_coding_and_the_connection_are_left_out() -> None:
    """A person may paste all that a server sent; the body stands here without its coding."""
    headers = "{Content-Type: a/b, Content-Encoding: gzip, content-length: '7', Connection: close, Set-Cookie: x}"
    result = only(result=f"response: {{status: 200, headers: {headers}}}").result
    assert isinstance(result, Response)
    assert result.headers == {"content-type": "a/b"}


@pytest.mark.parametrize("code", list(FATES))
def test_error_has_the_most_serious_fate_by_default(code: EgressCode) -> None:
    assert only(result=f"error: {{code: {code}}}").result == Failure(code=code, fate=FATES[code])


def test_error_may_name_its_fate_and_status() -> None:
    result = only(result="error: {code: timeout, fate: answered, status: 200}").result
    assert result == Failure(code=EgressCode.TIMEOUT, fate=Fate.ANSWERED, status=200)


@pytest.mark.parametrize("code", sorted(set(EgressCode) - set(FATES)))
def test_error_that_no_exchange_ends_with_is_refused(code: EgressCode) -> None:
    (text,) = refused(result=f"error: {{code: {code}}}")
    assert "code: must be 'denied', " in text


def test_line_of_each_exchange_is_known() -> None:
    exchange = f"  - request: {GET}\n    response: {{status: 200}}\n"
    exchanges = parse_cassette(f"cassette: 1\nexchanges:\n{exchange}\n{exchange}", "c.yaml").exchanges
    assert [each.line for each in exchanges] == [3, 6]


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"request": "{method: GET, url: https://u@a.example/}"}, "a user name or password in a URL is never allowed"),
        ({"request": "{method: TRACE, url: https://a.example/}"}, "method: must be 'GET'"),
        ({"request": "{method: GET, url: https://a.example/, text: x}"}, "a GET request has no body"),
        (
            {"request": "{method: GET, url: https://a.example/, headers: {Cookie: x}}"},
            "the header cookie is set by the host",
        ),
        ({"request": "{method: GET, url: https://a.example/, body: x}"}, "body: unknown name"),
        ({"result": "response: {status: 200, headers: {content-length: 5}}"}, "must be text, got 5"),
        ({"result": "response: {status: 200, headers: {x: Ω}}"}, "hold the character 'Ω'"),
        ({"result": "response: {status: 200, headers: {é: x}}"}, "hold the character 'é'"),
        ({"result": 'response: {status: 200, headers: {x: "a\\nb"}}'}, "has a control character"),
        ({"result": "response: {status: 200, base64: 'a*'}"}, "base64: is not base64"),
        ({"result": "response: {status: 200, text: a, json: a}"}, "has its body twice: text and json"),
        ({"result": "response: {status: 100}"}, "status: must be at least 200, got 100"),
        ({"result": "response: {status: 204, text: x}"}, "a response to GET with status 204 has no body"),
        ({"result": "error: {code: timeout}\n    response: {status: 200}"}, "must have either a response or an error"),
        ({"result": ""}, "must have either a response or an error"),
    ],
)
def test_fault_is_told(parts: dict[str, str], fault: str) -> None:
    (text,) = refused(**parts)
    assert fault in text
    assert text.startswith("c.yaml:")


def test_all_faults_are_told_at_once_with_their_places() -> None:
    text = textwrap.dedent(
        """\
        cassette: 2
        exchanges:
          - request: {method: GET, url: nowhere}
            respons: {status: 200}
          - request: {method: HEAD, url: "https://a.example/"}
            response: {status: 999}
        """
    )
    with pytest.raises(ConfigError) as caught:
        parse_cassette(text, "c.yaml")
    assert [(fault.line, fault.column, fault.path) for fault in caught.value.faults] == [
        (1, 11, "cassette"),
        (3, 33, "exchanges[0].request.url"),
        (4, 5, "exchanges[0].respons"),
        (6, 24, "exchanges[1].response.status"),
    ]


@pytest.mark.parametrize("text", ["", "[]", "cassette: 1", "exchanges: []"])
def test_file_that_is_no_cassette_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_cassette(text, "c.yaml")


def test_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_cassette(tmp_path / "none.yaml")


def test_json_file_is_a_cassette_too(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"cassette": 1, "exchanges": []}', encoding="utf-8")
    assert read_cassette(path).exchanges == ()
