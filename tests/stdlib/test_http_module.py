"""system/http as a script sees it: what crosses the wall for each call, and what comes back."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.wall import Answers, Guest, json_reply, reply

from keelbox_sandbox.contract import Call, FailureCode, Op, OpError, RefusedOp

pytestmark = pytest.mark.anyio

FAILED = "const failed = (promise) => promise.then(() => 'passed', (e) => [e.name, e.code, e.message]);\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def sent(guest: Guest, expression: str, value: Any = None) -> Op:
    """The one op that an expression makes."""
    answers = Answers(json_reply({}))
    result = await guest.exec(f"await {expression};", call=Call(input=value), perform=answers)
    assert result.code is None, result.message
    assert len(answers.ops) == 1
    return answers.ops[0]


async def refused(guest: Guest, expression: str) -> str:
    """The TypeError that an expression rejects with; nothing may be asked of the host."""
    name, code, message = await guest.value(f"{FAILED}return failed({expression});")
    assert (name, code) == ("TypeError", None)
    return str(message)


@pytest.mark.parametrize(
    ("expression", "method"),
    [
        ("Http.get(input)", "GET"),
        ("Http.getText(input)", "GET"),
        ("Http.getBytes(input)", "GET"),
        ("Http.getJson(input)", "GET"),
        ("Http.head(input)", "HEAD"),
        ("Http.post(input)", "POST"),
        ("Http.postJson(input, 1)", "POST"),
        ("Http.put(input)", "PUT"),
        ("Http.patch(input)", "PATCH"),
        ("Http.del(input)", "DELETE"),
        ("Http.request({ url: input })", "GET"),
        ("Http.request({ url: input, method: 'options' })", "OPTIONS"),
    ],
)
async def test_method_and_url_cross_as_they_are(guest: Guest, expression: str, method: str) -> None:
    op = await sent(guest, expression, "HTTP://User@ä.test:80/a b?x#y")
    assert (op.kind, op.head["method"], op.head["url"]) == ("http", method, "HTTP://User@ä.test:80/a b?x#y")
    assert set(op.head) == {"method", "url", "headers", "timeoutMs"}


@pytest.mark.parametrize(
    ("argument", "body", "content_type"),
    [
        ("undefined", b"", None),
        ("null", b"", None),
        ("''", b"", "text/plain;charset=UTF-8"),
        ("'héllo \\ud800'", "héllo \ufffd".encode(), "text/plain;charset=UTF-8"),
        ("new Uint8Array([0, 255, 0])", b"\x00\xff\x00", "application/octet-stream"),
        ("new Uint8Array([1, 2, 3, 4]).subarray(1, 3)", b"\x02\x03", "application/octet-stream"),
        ("new Uint16Array([258])", b"\x02\x01", "application/octet-stream"),
        ("new Uint8Array([7]).buffer", b"\x07", "application/octet-stream"),
        ("new DataView(new Uint8Array([1, 2, 3]).buffer, 1)", b"\x02\x03", "application/octet-stream"),
        ("new Uint8Array(0)", b"", "application/octet-stream"),
        ("{ a: [1, 'é'] }", '{"a":[1,"é"]}'.encode(), "application/json"),
        ("[null, undefined]", b"[null,null]", "application/json"),
        ("5", b"5", "application/json"),
        ("false", b"false", "application/json"),
        ("new Date(0)", b'"1970-01-01T00:00:00.000Z"', "application/json"),
    ],
)
async def test_bodies(guest: Guest, argument: str, body: bytes, content_type: str | None) -> None:
    op = await sent(guest, f"Http.post('http://a.test/', {argument})")
    assert (op.body, op.head["headers"].get("content-type")) == (body, content_type)


@pytest.mark.parametrize(
    ("options", "body", "content_type"),
    [
        ("{ body: 'text' }", b"text", "text/plain;charset=UTF-8"),
        ("{ json: null }", b"null", "application/json"),
        ("{ json: 'text' }", b'"text"', "application/json"),
        ("{ json: { a: 1 }, headers: { 'Content-Type': 'application/x' } }", b'{"a":1}', "application/x"),
        ("{ body: '<a/>', headers: { 'content-TYPE': 'text/xml' } }", b"<a/>", "text/xml"),
    ],
)
async def test_bodies_of_request(guest: Guest, options: str, body: bytes, content_type: str) -> None:
    op = await sent(guest, f"Http.request({{ method: 'POST', url: 'http://a.test/', ...{options} }})")
    assert (op.body, op.head["headers"]["content-type"]) == (body, content_type)


async def test_post_json_of_nothing_sends_null(guest: Guest) -> None:
    assert (await sent(guest, "Http.postJson('http://a.test/')")).body == b"null"


async def test_headers_are_texts_in_lower_case(guest: Guest) -> None:
    op = await sent(
        guest, "Http.get('http://a.test/', { headers: { 'X-Count': 5, Accept: 'a', no: null, nor: undefined } })"
    )
    assert op.head["headers"] == {"x-count": "5", "accept": "a"}


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", ""])
async def test_awkward_header_names_are_plain_data(guest: Guest, name: str) -> None:
    op = await sent(guest, "Http.get('http://a.test/', { headers: input })", {name: "v"})
    assert op.head["headers"] == {name.lower(): "v"}


@pytest.mark.parametrize(
    ("url", "query", "joined"),
    [
        ("http://a.test/", "{ q: 'a b&c=d', n: 3, t: true }", "http://a.test/?q=a%20b%26c%3Dd&n=3&t=true"),
        ("http://a.test/?x=1#end", "{ y: 2 }", "http://a.test/?x=1&y=2"),
        ("http://a.test/", "{ list: ['a', null, 'é'], no: null, nor: undefined }", "http://a.test/?list=a&list=%C3%A9"),
        ("http://a.test/", "{}", "http://a.test/"),
        ("http://a.test/", "null", "http://a.test/"),
    ],
)
async def test_query_is_added(guest: Guest, url: str, query: str, joined: str) -> None:
    assert (await sent(guest, f"Http.get(input, {{ query: {query} }})", url)).head["url"] == joined


async def test_url_object_is_taken(guest: Guest) -> None:
    op = await sent(guest, "Http.get(new URL('../c?d', 'http://A.test/a/b'))")
    assert op.head["url"] == "http://a.test/c?d"


async def test_timeout_crosses_as_milliseconds(guest: Guest) -> None:
    assert (await sent(guest, "Http.get('http://a.test/', { timeoutMs: 1500.5 })")).head["timeoutMs"] == 1500.5
    assert (await sent(guest, "Http.get('http://a.test/')")).head["timeoutMs"] is None


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("Http.get()", "url must be a string or a URL"),
        ("Http.get(5)", "url must be a string or a URL"),
        ("Http.request()", "url must be a string or a URL"),
        ("Http.request({ url: 'x', method: 5 })", "method must be a string"),
        ("Http.get('x', 'y')", "options must be a plain object"),
        ("Http.get('x', new Map())", "options must be a plain object"),
        ("Http.get('x', { timeout: 5 })", "unknown option 'timeout'"),
        ("Http.get('x', { timeoutMs: 0 })", "timeoutMs must be a positive number"),
        ("Http.get('x', { timeoutMs: '5' })", "timeoutMs must be a positive number"),
        ("Http.get('x', { timeoutMs: NaN })", "timeoutMs must be a positive number"),
        ("Http.get('x', { headers: [['a', 'b']] })", "headers must be a plain object"),
        ("Http.get('x', { query: 'a=b' })", "query must be a plain object"),
        ("Http.request({ url: 'x', body: {} })", "body must be a string, a Uint8Array or an ArrayBuffer"),
        ("Http.request({ url: 'x', body: 'a', json: 1 })", "either body or json, not both"),
        ("Http.post('x', { f: () => 1 })", "not JSON: a function at f"),
        ("Http.post('x', 10n)", "not JSON: a BigInt"),
        ("Http.postJson('x', NaN)", "not JSON: NaN"),
    ],
)
async def test_wrong_arguments_are_named(guest: Guest, expression: str, part: str) -> None:
    assert part in await refused(guest, expression)


async def test_wrong_arguments_reject_and_do_not_throw(guest: Guest) -> None:
    assert await guest.value("const p = Http.get(5); p.catch(() => {}); return p instanceof Promise;") is True


@pytest.mark.parametrize("status", [100, 200, 204, 299, 301, 404, 500, 599])
async def test_status_does_not_throw(guest: Guest, status: int) -> None:
    answers = Answers(reply(b"body", status=status, headers={"x-a": "1"}))
    value = await guest.value("return Http.get('http://a.test/');", perform=answers)
    assert value == {
        "ok": 200 <= status <= 299,
        "status": status,
        "headers": {"x-a": "1"},
        "url": "http://a.test/",
        "body": "body",
    }


async def test_head_has_an_empty_body(guest: Guest) -> None:
    value = await guest.value("return Http.head('http://a.test/');", perform=Answers(reply(headers={"etag": "x"})))
    assert (value["body"], value["headers"]) == ("", {"etag": "x"})


@pytest.mark.parametrize("call", ["getJson('http://a.test/')", "postJson('http://a.test/', 1)"])
async def test_json_body_is_parsed(guest: Guest, call: str) -> None:
    document = {"a": [1, 2.5, None, True, "☃"], "__proto__": {"x": 1}, "": 0}
    value = await guest.value(f"return Http.{call};", perform=Answers(json_reply(document)))
    assert (value["ok"], value["body"], "error" in value) == (True, document, False)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"{", b"[1] x", b'{"a":1,}', b"\xff\xfe", b"NaN", b"'a'", b"{a:1}", b"[1]\0", b"[" * 100000],
)
async def test_body_that_is_not_json(guest: Guest, body: bytes) -> None:
    value = await guest.value("return Http.getJson('http://a.test/');", perform=Answers(reply(body)))
    assert (value["ok"], value["status"], value["body"], value["error"]) == (False, 200, None, "not-json")
    assert value["text"] == body[:1000].decode("utf-8", "replace")


async def test_start_of_a_body_that_is_not_json_ends_with_a_whole_character(guest: Guest) -> None:
    answers = Answers(reply(("x" * 999 + "é" * 10).encode()))
    value = await guest.value("return (await Http.getJson('http://a.test/')).text;", perform=answers)
    assert value == "x" * 999


@pytest.mark.parametrize("call", ["get", "getJson"])
async def test_byte_order_mark_is_no_part_of_the_text(guest: Guest, call: str) -> None:
    answers = Answers(reply(b"\xef\xbb\xbf[1]"))
    assert await guest.value(f"return (await Http.{call}('http://a.test/')).body;", perform=answers) in ("[1]", [1])


async def test_bytes_are_bytes(guest: Guest) -> None:
    body = bytes(range(256)) + b"\xef\xbb\xbf"
    script = "const { body } = await Http.getBytes('http://a.test/'); return [body instanceof Uint8Array, ...body];"
    assert await guest.value(script, perform=Answers(reply(body))) == [True, *body]


async def test_bytes_of_one_answer_stay_when_the_next_comes(guest: Guest) -> None:
    """E36: what a script holds is its own copy, not the exchange buffer."""
    script = """
      const first = (await Http.getBytes('http://a.test/')).body;
      const second = (await Http.getBytes('http://a.test/')).body;
      return [...first, ...second];
    """
    assert await guest.value(script, perform=Answers(reply(b"\x01\x02"), reply(b"\x03\x04"))) == [1, 2, 3, 4]


async def test_text_is_decoded_as_utf8(guest: Guest) -> None:
    """As the Encoding standard has it: each maximal part that is no character becomes one U+FFFD."""
    generator = random.Random(5)
    pieces = [
        b"a",
        "é☃🎉".encode(),
        b"\xff",
        b"\xe2\x98",
        b"\xf0\x9f\x8e",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xf5\x80",
        b"\x80",
    ]
    bodies = [b"".join(generator.choices(pieces, k=12)) for _ in range(60)]
    body = (
        "const all = []; for (let i = 0; i < input; i++) all.push((await Http.get('http://a.test/')).body); return all;"
    )
    decoded = await guest.value(body, call=Call(input=len(bodies)), perform=Answers(*map(reply, bodies)))
    assert decoded == [data.decode("utf-8", "replace") for data in bodies]


@pytest.mark.parametrize(
    "code", ["denied", "timeout", "dns-failed", "connect-failed", "tls-failed", "protocol-error", "response-too-large"]
)
async def test_failed_request_rejects_with_its_code(guest: Guest, code: str) -> None:
    body = f"""
      {FAILED}
      const error = await Http.get('http://a.test/').catch((e) => e);
      return [error instanceof Http.HttpError, error instanceof Error, error.name, error.code, error.message];
    """
    value = await guest.value(body, perform=Answers(OpError(code, "the host's text")))
    assert value == [True, True, "HttpError", code, "the host's text"]


async def test_error_has_the_line_of_the_call(guest: Guest) -> None:
    body = """\
      const ask = () => Http.get('http://a.test/');
      try { await ask(); } catch (error) { return error.stack; }
    """
    stack = await guest.value(body, perform=Answers(OpError("timeout", "too slow")))
    assert stack.splitlines()[0].startswith("    at ask (tool.js:2:")


async def test_next_request_works_after_a_failed_one(guest: Guest) -> None:
    body = "await Http.get('http://a.test/1').catch(() => {}); return (await Http.get('http://a.test/2')).body;"
    assert await guest.value(body, perform=Answers(OpError("timeout", "x"), reply(b"second"))) == "second"


async def test_second_request_at_once_is_busy_and_not_sent(guest: Guest) -> None:
    body = f"""
      {FAILED}
      const order = [];
      const note = (name) => (value) => {{ order.push(name); return value; }};
      const both = await Promise.all([
        failed(Http.get('http://a.test/1')).then(note('first')), failed(Http.get('http://a.test/2')).then(note('second')),
      ]);
      return [both, order];
    """
    answers = Answers(reply(b"one"))
    result = await guest.exec(body, perform=answers)
    assert result.code is None, result.message
    (first, second), order = result.value
    assert first == "passed"
    assert second[:2] == ["HttpError", "buffer-busy"]
    assert "await one call before the next" in second[2]
    assert order == ["second", "first"]
    assert [op.head["url"] for op in answers.ops] == ["http://a.test/1"]
    assert result.refused_ops == (RefusedOp(kind="http", method="GET", url="http://a.test/2", code="buffer-busy"),)


async def test_uncaught_busy_fails_with_its_line_and_hint(guest: Guest) -> None:
    body = "await Promise.all([\n  Http.get('http://a.test/1'),\n  Http.get('http://a.test/2'),\n]);"
    answers = Answers()
    result = await guest.exec(body, perform=answers)
    assert (result.code, len(answers.ops)) == (FailureCode.THREW, 1)
    assert result.message is not None and "[buffer-busy]" in result.message
    assert result.location is not None and result.location[:2] == ("tool.js", 4)
    assert result.hint is not None and "Promise.all" in result.hint


async def test_busy_for_the_conversation_too(guest: Guest) -> None:
    body = f"{FAILED}const p = Http.get('http://a.test/'); const q = failed(Agent.getLastReply('a', {{ sessionID: 's' }})); await p; return q;"
    assert (await guest.value(body, perform=Answers()))[1] == "buffer-busy"


async def test_one_after_another_in_two_branches(guest: Guest) -> None:
    body = """
      const first = Http.get('http://a.test/1');
      const second = first.then(() => Http.get('http://a.test/2'));
      return [(await first).body, (await second).body];
    """
    assert await guest.value(body, perform=Answers(reply(b"1"), reply(b"2"))) == ["1", "2"]


async def test_named_exports_are_those_of_the_default(guest: Guest) -> None:
    source = """
      import Http, * as all from 'system/http';
      const names = Object.keys(Http);
      export const exec = () => [
        names.every((name) => Http[name] === all[name]), Object.keys(all).filter((name) => !names.includes(name)), names.sort(),
      ];
    """
    names = "HttpError del get getBytes getJson getText head patch post postJson put request"
    assert (await guest.run(source)).value == [True, ["default"], names.split()]


@pytest.mark.parametrize("name", ["sessionId", "x" * 3000])
async def test_long_url_of_a_refused_op_is_shortened(guest: Guest, name: str) -> None:
    body = f"const p = Http.get('http://a.test/'); Http.get('http://b.test/{name}').catch(() => {{}}); await p;"
    result = await guest.exec(body, perform=Answers())
    assert len(result.refused_ops) == 1
    assert result.refused_ops[0].url == f"http://b.test/{name}"[:2048]
