"""What counts as JSON when it leaves the guest, how large it may be, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import pytest
from tests.wall import Guest, program

from keelbox_sandbox.contract import Call, FailureCode, Limits

pytestmark = pytest.mark.anyio

KIB = 1024


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("() => 1", "a function"),
        ("class {}", "a function"),
        ("Symbol('x')", "a symbol"),
        ("10n", "a BigInt (make it a string)"),
        ("new Map([[1, 2]])", "an instance of Map"),
        ("new Set([1])", "an instance of Set"),
        ("new (class Point { x = 1 })()", "an instance of Point"),
        ("new Error('x')", "an instance of Error"),
        ("new Uint8Array(2)", "an instance of Uint8Array"),
        ("new ArrayBuffer(2)", "an instance of ArrayBuffer"),
        ("{ p: Promise.resolve(1) }", "an instance of Promise at p"),
        ("/x/", "an instance of RegExp"),
        ("new Number(1)", "an instance of Number"),
        ("new WeakRef({})", "an instance of WeakRef"),
        ("Object.create(Object.create(null))", "a class instance"),
        ("NaN", "NaN"),
        ("Infinity", "an infinite number"),
        ("-1e400", "an infinite number"),
        ("2 ** 53", "an integer beyond 2^53 - 1 (make it a string)"),
        ("-(2 ** 60)", "an integer beyond 2^53 - 1 (make it a string)"),
        ("{ a: [1, { b: undefined, c: () => 1 }] }", "a function at a[1].c"),
        ("[[[NaN]]]", "NaN at [0][0][0]"),
        ("(() => { const a = {}; a.b = [a]; return a; })()", "a cycle at b[0]"),
        ("(() => { const a = []; a.push(a); return a; })()", "a cycle at [0]"),
    ],
)
async def test_not_cloneable(guest: Guest, written: str, fault: str) -> None:
    result = await guest.exec(f"return {written};")
    assert result.code == FailureCode.RETURN_NOT_CLONEABLE
    assert result.message == f"exec returned what is not JSON: {fault}"
    assert result.hint is not None


@pytest.mark.parametrize("place", ["dictionary", "session"])
async def test_not_cloneable_dictionary_and_session(guest: Guest, place: str) -> None:
    result = await guest.exec(f"{place}.a = {{ when: [new Map()] }};")
    assert result.code == FailureCode.RETURN_NOT_CLONEABLE
    assert result.message == f"{place} holds what is not JSON: an instance of Map at a.when[0]"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("new Date(Date.UTC(2026, 0, 31, 12))", "2026-01-31T12:00:00.000Z"),
        ("{ toJSON: () => [1, 2] }", [1, 2]),
        ("{ a: { toJSON(key) { return `key ${key}`; } } }", {"a": "key a"}),
        ("[{ toJSON(key) { return typeof key + key; } }]", ["number0"]),
        ("new URL('http://a.test/x')", "http://a.test/x"),
        ("-0", 0),
        ("1e21", 1e21),
        ("0.1", 0.1),
        ("5e-324", 5e-324),
        ("[,1]", [None, 1]),
        ("Object.assign([1], { extra: 2 })", [1]),
        ("'\\ud800 lone'", "\ufffd lone"),
        ("{ '\\udfff': 1 }", {"\ufffd": 1}),
        ("{ [Symbol('s')]: 1, a: 2 }", {"a": 2}),
        ("(() => { const shared = [1]; return [shared, shared]; })()", [[1], [1]]),
        ("(async () => 'awaited')()", "awaited"),
    ],
)
async def test_documented_conversions(guest: Guest, written: str, value: Any) -> None:
    assert await guest.value(f"return {written};") == value


async def test_nesting_as_deep_as_may_be(guest: Guest) -> None:
    body = "let v = 1; for (let i = 0; i < input; i++) v = [v]; return v;"
    nested: Any = 1
    for _ in range(64):
        nested = [nested]
    assert await guest.value(body, call=Call(input=64)) == nested
    result = await guest.exec(body, call=Call(input=65))
    assert result.code == FailureCode.RETURN_NOT_CLONEABLE
    assert result.message is not None and "nesting deeper than 64" in result.message


@pytest.mark.parametrize(
    "name", ["__proto__", "constructor", "hasOwnProperty", "", "\0", "toString", "$type", "0", "e\u0301", "\u00e9"]
)
async def test_awkward_names_are_plain_data(guest: Guest, name: str) -> None:
    """B20: whatever a key is called, it comes in and goes out as it was."""
    value = {name: {"a": [1]}, "other": {name: None}}
    result = await guest.exec(
        "session.x = dictionary.x; return input;", call=Call(input=value, dictionary={"x": value})
    )
    assert (result.value, result.dictionary, result.session) == (value, {"x": value}, {"x": value})


async def test_many_and_long_names_round_trip(guest: Guest) -> None:
    """B20: a key of 200 KB, and twins that differ by their normal form only."""
    value = {"k" * 200_000: 1, "e\u0301": 2, "\u00e9": 3, **{f"n{i}": i for i in range(20_000)}}
    assert await guest.value("return input;", call=Call(input=value)) == value


async def test_order_of_names_is_kept(guest: Guest) -> None:
    value = await guest.value("return { b: 1, a: 2, ...input };", call=Call(input={"z": 3, "c": 4}))
    assert list(value) == ["b", "a", "z", "c"]


@pytest.mark.parametrize(("written", "overhead"), [("'x'", 2), ("'é'", 2), ("'🎉'", 2), ("'\\n'", 2)])
async def test_return_of_exactly_the_limit(guest: Guest, written: str, overhead: int) -> None:
    """Bytes are those of the JSON text in UTF-8, quotes and escapes included."""
    unit = {"'x'": 1, "'é'": 2, "'🎉'": 4, "'\\n'": 2}[written]
    body = f"return {written}.repeat(input);"
    count = (KIB - overhead) // unit
    limits = Limits(return_kib=(count * unit + overhead) / KIB)
    assert len(await guest.value(body, call=Call(input=count), limits=limits)) == count
    result = await guest.exec(body, call=Call(input=count + 1), limits=limits)
    assert result.code == FailureCode.RETURN_TOO_LARGE
    assert result.message is not None and "return_kib" in result.message


@pytest.mark.parametrize("place", ["dictionary", "session"])
async def test_dictionary_and_session_of_exactly_the_limit(guest: Guest, place: str) -> None:
    body = f"{place}.a = 'é'.repeat(input);"  # {{"a":"…"}} are 8 bytes more
    limits = Limits(dictionary_kib=1, session_kib=1)
    assert (await guest.exec(body, call=Call(input=(KIB - 8) // 2), limits=limits)).code is None
    result = await guest.exec(body, call=Call(input=(KIB - 8) // 2 + 1), limits=limits)
    assert result.code == FailureCode.RETURN_TOO_LARGE
    assert result.message is not None and f"{place}_kib" in result.message


@pytest.mark.parametrize("container", ["[]", "{}", "{ a: 1 }"])
async def test_array_or_object_counts_sixteen_bytes_at_least(guest: Guest, container: str) -> None:
    """The host makes a much larger object of each."""
    body = f"return Array.from({{ length: input }}, () => ({container}));"
    limits = Limits(return_kib=1)
    assert len(await guest.value(body, call=Call(input=KIB // 16), limits=limits)) == KIB // 16
    result = await guest.exec(body, call=Call(input=KIB // 16 + 1), limits=limits)
    assert result.code == FailureCode.RETURN_TOO_LARGE


async def test_shared_references_do_not_explode(guest: Guest) -> None:
    """B15: twenty-six levels of two references each are 67 million values when written out."""
    result = await guest.run(program("return_shared_references"))
    assert result.code == FailureCode.RETURN_TOO_LARGE


async def test_limits_together_fit_beside_each_other(guest: Guest) -> None:
    body = """
      dictionary.a = 'd'.repeat(1536 * 1024 - 8);
      session.a = 's'.repeat(1536 * 1024 - 8);
      return 'r'.repeat(1024 * 1024 - 2);
    """
    result = await guest.exec(body)
    assert result.code is None, result.message
    assert result.dictionary is not None and result.session is not None
    assert [len(text) for text in (result.value, result.dictionary["a"], result.session["a"])] == [
        1024 * KIB - 2,
        1536 * KIB - 8,
        1536 * KIB - 8,
    ]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{ get a() { throw new Error('in a getter'); } }", "Error: in a getter"),
        ("{ toJSON() { throw new Error('in toJSON'); } }", "Error: in toJSON"),
        ("new Proxy({}, { ownKeys() { throw new Error('in a trap'); } })", "Error: in a trap"),
        ("(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return { proxy }; })()", "TypeError: "),
        ("{ get a() { throw null; } }", "null (thrown as a null, not an Error)"),
    ],
)
async def test_value_that_throws_while_it_is_read(guest: Guest, written: str, message: str) -> None:
    """B11."""
    result = await guest.exec(f"return {written};")
    assert result.code == FailureCode.THREW
    assert result.message is not None and message in result.message


async def test_getter_of_the_result_runs_in_the_sealed_run(guest: Guest) -> None:
    body = """
      return { get late() {
        try { Agent.setRootAgentPrompt('a', { prompt: 'p', sessionID: 's', requestID: 'r' }); return 'staged'; }
        catch (error) { return error.code; }
      } };
    """
    result = await guest.exec(body)
    assert (result.value, result.writes) == ({"late": "ended"}, ())


async def test_array_that_changes_while_it_is_read(guest: Guest) -> None:
    body = "const a = [1, { get x() { a.length = 0; a.push(9); return 2; } }, 3, 4]; return a;"
    assert await guest.value(body) == [1, {"x": 2}, None, None]
