"""stack_kib: recursion without end is an error that the script can catch, wherever the frames are."""

from __future__ import annotations

import pytest
from tests.wall import Answers, Guest

from keelbox_sandbox.contract import FailureCode, Limits

pytestmark = pytest.mark.anyio

DEPTH = "let depth = 0; const down = () => { depth += 1; down(); }; try { down(); } catch (error) { return [error.name, depth]; }"

RECURSIONS = {
    "calls": "const f = () => f() + 1; f();",
    "methods with many arguments": "const f = (...a) => f(...a, 1); f();",
    "getters": "const o = { get x() { return this.x; } }; o.x;",
    "toString": "const o = { toString: () => `${o}` }; `${o}`;",
    "proxies": "let p = {}; for (let i = 0; i < 20000; i++) p = new Proxy(p, {}); p.x;",
    "bound functions": "let f = () => 1; for (let i = 0; i < 20000; i++) f = f.bind(null); f();",
    "JSON.parse": "JSON.parse('['.repeat(200000) + ']'.repeat(200000));",
    "JSON.stringify": "let v = []; for (let i = 0; i < 40000; i++) v = [v]; JSON.stringify(v);",
    "reviver": "JSON.parse('['.repeat(1000) + ']'.repeat(1000), function f(k, v) { return JSON.parse('[1]', f); });",
    "flat": "let v = []; for (let i = 0; i < 100000; i++) v = [v]; v.flat(Infinity);",
    "eval": "const f = () => eval('f()'); f();",
    "sort": "const f = () => [2, 1].sort(f); f();",
    "replace": "const f = () => 'a'.replace(/a/, f); f();",
    "forEach": "const f = () => [1].forEach(f); f();",
    "iterators": "const o = { [Symbol.iterator]: () => { [...o]; } }; [...o];",
    "generators": "function* f() { yield* f(); } [...f()];",
    "constructors": "class A { constructor() { new A(); } } new A();",
    "parser": "new Function('('.repeat(100000));",
    "parser of arrays": "new Function('['.repeat(100000));",
    "parser of functions": "new Function('()=>'.repeat(100000) + '1');",
    "regex compiler": "new RegExp('(?:'.repeat(100000) + ')'.repeat(100000));",
    "handlers": "const f = () => { try { f(); } finally { f; } }; f();",
}


async def test_it_is_a_range_error(guest: Guest) -> None:
    name, depth = await guest.value(DEPTH)
    assert name == "RangeError"
    assert depth > 500


async def test_depth_follows_the_limit(guest: Guest) -> None:
    depths = [(await guest.value(DEPTH, limits=Limits(stack_kib=kib)))[1] for kib in (64, 256, 512)]
    assert depths == sorted(depths)
    assert 3 < depths[1] / depths[0] < 5
    assert 1.8 < depths[2] / depths[1] < 2.2


@pytest.mark.parametrize("recursion", RECURSIONS)
async def test_recursion_can_be_caught_and_the_run_goes_on(guest: Guest, recursion: str) -> None:
    """R3: whichever part of the engine recurses, the guest gets an error and the host no signal."""
    body = f"try {{ {RECURSIONS[recursion]} return 'no error'; }} catch (error) {{ return error.name; }}"
    limits = Limits(cpu_s=20, heap_mib=128)
    value = await guest.value(body, limits=limits)
    assert value in ("RangeError", "SyntaxError", "InternalError", "TypeError")
    assert (await guest.value(DEPTH))[0] == "RangeError"


async def test_same_depth_after_each_answer(guest: Guest) -> None:
    body = f"const depth = () => {{ {DEPTH} }}; const first = depth(); await Http.get('http://a.test/'); return [first, depth()];"
    (_, first), (_, second) = await guest.value(body, perform=Answers())
    assert abs(first - second) < first / 10


async def test_deep_recursion_right_before_a_stop_is_no_crash(guest: Guest) -> None:
    body = "const f = () => { try { f(); } catch { for (;;); } }; f();"
    result = await guest.exec(body, limits=Limits(cpu_s=0.1))
    assert result.code == FailureCode.CPU_EXCEEDED
