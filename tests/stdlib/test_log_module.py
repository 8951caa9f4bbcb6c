"""system/log as a script sees it: how values become text, and that it never breaks a tool."""

from __future__ import annotations

import json

import pytest
from tests.wall import Guest

from keelbox_sandbox.contract import FailureCode, Limits, LogLine

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def logged(guest: Guest, body: str) -> list[str]:
    result = await guest.exec(body)
    assert result.code is None, result.message
    return [line.text for line in result.logs]


@pytest.mark.parametrize("level", ["error", "warning", "info", "debug"])
async def test_levels(guest: Guest, level: str) -> None:
    result = await guest.exec(f"return Log.{level}('text') === undefined;")
    assert (result.value, [(line.level, line.text) for line in result.logs]) == (True, [(level, "text")])


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ("", ""),
        ("'a', 'b c'", "a b c"),
        ("1, true, null, undefined", "1 true null undefined"),
        ("{ a: [1, 'é'] }", '{"a":[1,"é"]}'),
        ("[1, 2]", "[1,2]"),
        ("10n", "10"),
        ("NaN, -0, Infinity", "NaN 0 Infinity"),
        ("Symbol('s')", "Symbol(s)"),
        ("new Map([[1, 2]])", "[object Map] (not JSON: an instance of Map)"),
        ("new Date(0)", '"1970-01-01T00:00:00.000Z"'),
        ("Object.create(null, { f: { value() {}, enumerable: true } })", "(a value that cannot be written)"),
        ("'line 1\\nline 2\\t\\x1b'", "line 1\nline 2\t\x1b"),
        ("'\\ud800'", "\ufffd"),
    ],
)
async def test_values_become_text(guest: Guest, values: str, text: str) -> None:
    assert await logged(guest, f"Log.info({values});") == [text]


async def test_error_is_written_with_its_stack(guest: Guest) -> None:
    (text,) = await logged(guest, "Log.error('failed:', new TypeError('no'));")
    assert text.startswith("failed: TypeError: no\n")
    assert "tool.js:2:" in text


@pytest.mark.parametrize(
    "value",
    [
        "{ toString() { throw new Error('x'); }, a: 1n }",
        "{ get a() { throw new Error('x'); } }",
        "{ toJSON() { throw new Error('x'); } }",
        "Proxy.revocable({}, {}).proxy",
        "(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()",
        "(() => { const e = new Error('x'); Object.defineProperty(e, 'name', { get() { throw 1; } }); return e; })()",
        "(() => { const e = new Error('x'); Object.defineProperty(e, 'message', { value: {} }); return e; })()",
        "(() => { const a = []; a.push(a); return a; })()",
        "Object.create(null)",
        "new (class { get [Symbol.toStringTag]() { throw 1; } })()",
    ],
)
async def test_never_throws(guest: Guest, value: str) -> None:
    lines = await logged(guest, f"Log.info('before', {value}); Log.info('after');")
    assert len(lines) == 2
    assert lines[0].startswith("before ")


async def test_large_value_is_cut(guest: Guest) -> None:
    (text,) = await logged(guest, "Log.info(new Array(100000).fill(7));")
    assert text == ("[" + "7," * 40000)[:65536] + " …"


@pytest.mark.parametrize("filling", ["é", "🎉", "\n"])
async def test_large_value_is_cut_between_characters(guest: Guest, filling: str) -> None:
    for start in ("", "x", "xx", "xxx"):
        (text,) = await logged(guest, f"Log.info({{ a: '{start}' + {json.dumps(filling)}.repeat(70000) }});")
        assert text.startswith('{"a":"' + start)
        assert text.endswith(" …")
        assert "\ufffd" not in text
        assert 65530 <= len(text.removesuffix(" …").encode()) <= 65536


async def test_large_value_is_logged_where_memory_is_short(guest: Guest) -> None:
    """It is never written out whole: the one refusal that a script may catch is not spent on a log line."""
    body = "const v = new Array(100000).fill('x'.repeat(100)); Log.info(v); Log.info(v); return v.length;"
    result = await guest.exec(body, limits=Limits(heap_mib=4))
    assert (result.code, result.value, len(result.logs)) == (None, 100000, 2)


async def test_logging_inside_to_string_of_what_is_logged(guest: Guest) -> None:
    """R13."""
    body = "let n = 0; const value = { toJSON: () => 1n, toString() { if (n++ < 3) Log.info(value); return `v${n}`; } }; Log.info(value);"
    assert await logged(guest, body) == ["v4 (not JSON: a BigInt (make it a string))"] * 4


async def test_lines_are_kept_when_the_run_is_cut(guest: Guest) -> None:
    result = await guest.exec("Log.debug('kept'); throw new Error('x');")
    assert (result.code, result.logs) == (FailureCode.THREW, (LogLine(level="debug", text="kept"),))


async def test_line_may_be_logged_while_the_modules_load(guest: Guest) -> None:
    result = await guest.run("import { info } from 'system/log'; info('load'); export const exec = () => info('exec');")
    assert [line.text for line in result.logs] == ["load", "exec"]
