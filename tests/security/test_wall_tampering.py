"""A script may break its own world, and not what the platform does in it (SECURITY B21, B22, B24, B26)."""

from __future__ import annotations

import pytest
from tests.wall import Answers, Guest, json_reply, reply

from keelbox_sandbox.contract import Call, FailureCode, Limits, OpError

pytestmark = pytest.mark.anyio

USE = """
  const all = [];
  Log.info('line', { a: [1, 'é'] }, 5);
  Agent.setRootAgentPrompt('main', { prompt: 'p', sessionID: 's', requestID: Tools.generateUUID() });
  all.push((await Http.getJson(new URL('/x?y', 'http://a.test'), { query: { q: ['a', 'b'] }, headers: { A: 1 } })).body);
  all.push((await Http.post('http://a.test/', { b: [2] })).body);
  try { await Http.get('http://a.test/'); } catch (error) { all.push(error.code); }
  all.push(await Agent.getMessages('main', { sessionID: 's', last: 1 }));
  ctx.progress({ at: 'end' });
  return all;
"""
"""Uses every system module; `SABOTAGE` comes before it."""

EVIL = "() => { throw new Error('the sabotage was asked'); }"
SABOTAGE = {
    "nothing": "",
    "globals": """
      const names = Object.getOwnPropertyNames(globalThis);
      for (const name of names) {
        if (!['globalThis', 'Object', 'URL', 'toolOptions'].includes(name)) try { globalThis[name] = undefined; } catch { /* fixed */ }
      }
    """,
    "methods": f"""
      const evil = {EVIL};
      const {{ ownKeys }} = Reflect;
      const define = Object.defineProperty;
      const prototypes = [Array, String, Promise, RegExp, Number, Boolean, Symbol, Map, Set, Date, Error, TypeError, Uint8Array,
        Object.getPrototypeOf(Uint8Array), ArrayBuffer, DataView, BigInt].map((type) => type.prototype);
      const targets = [...prototypes, JSON, Math, Reflect, Array, String, Number, Promise, ArrayBuffer];
      for (let i = 0; i < targets.length; i++) {{
        const keys = ownKeys(targets[i]);
        for (let j = 0; j < keys.length; j++) {{
          if (keys[j] === 'constructor' || keys[j] === 'prototype') continue;
          try {{ define(targets[i], keys[j], {{ __proto__: null, value: evil, configurable: true }}); }} catch {{ /* fixed */ }}
        }}
      }}
    """,
    "getters on Object.prototype": f"""
      const evil = {EVIL};
      for (const name of ['code', 'message', 'ok', 'status', 'text', 'error', 'method', 'url', 'headers', 'query', 'body', 'json',
        'timeoutMs', 'prompt', 'last', 'read', '0', 'next', 'done']) {{
        Object.defineProperty(Object.prototype, name, {{ __proto__: null, get: evil, set: evil, configurable: true }});
      }}
    """,
    "setters on Array.prototype": f"""
      for (let i = 0; i < 8; i++) {{
        Object.defineProperty(Array.prototype, i, {{ __proto__: null, set: {EVIL}, get: {EVIL}, configurable: true }});
      }}
    """,
    "species and then": f"""
      Object.defineProperty(Promise, Symbol.species, {{ __proto__: null, get: {EVIL} }});
      Promise.prototype.constructor = class Fake {{ constructor() {{ throw new Error('the sabotage was asked'); }} }};
    """,
    "function methods": f"Function.prototype.call = Function.prototype.apply = Function.prototype.bind = {EVIL};",
    "iterators": f"""
      Array.prototype[Symbol.iterator] = {EVIL};
      Object.getPrototypeOf([][Symbol.iterator] ? Object.getPrototypeOf(new Map().entries()) : {{}}).next = {EVIL};
    """,
    "errors": f"""
      Error.captureStackTrace = {EVIL}; Error.prepareStackTrace = {EVIL}; Error.stackTraceLimit = 0;
      Object.defineProperty(Error.prototype, 'stack', {{ get: {EVIL}, configurable: true }});
      Object.defineProperty(Error, Symbol.hasInstance, {{ value: () => true }});
    """,
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("name", SABOTAGE)
async def test_system_modules_work_under_sabotage(guest: Guest, name: str) -> None:
    answers = Answers(
        json_reply({"a": [1]}), reply(b"posted"), OpError("timeout", "slow"), json_reply([{"role": "user"}])
    )
    source = guest.exec_source(f"{SABOTAGE[name]}\n{USE.replace('all.push(', 'add(').replace('const all = [];', ADD)}")
    result = await guest.run(source, perform=answers)
    assert result.code is None, (result.message, result.stack)
    assert result.value == {"0": {"a": [1]}, "1": "posted", "2": "timeout", "3": [{"role": "user"}]}
    assert [line.text for line in result.logs] == ['line {"a":[1,"é"]} 5']
    assert [op.head.get("url") for op in answers.ops] == ["http://a.test/x?y&q=a&q=b", *["http://a.test/"] * 2, None]
    assert answers.ops[0].head["headers"] == {"a": "1"}
    assert answers.ops[1].body == b'{"b":[2]}'
    assert [write.content for write in result.writes] == ["p"]


ADD = "const all = Object.create(null); let count = 0; const add = (value) => { all[`${count++}`] = value; };"
"""The script's own list must not need what it has broken."""


async def test_sabotage_does_not_outlive_its_run(guest: Guest) -> None:
    for name in SABOTAGE:
        await guest.exec(SABOTAGE[name])
        assert await guest.value("return JSON.stringify([...new Set([1, 2]), 'a'.concat('b')]);") == '[1,2,"ab"]'


@pytest.mark.parametrize("module", ["http", "agent", "log", "tools"])
async def test_system_modules_cannot_be_changed(guest: Guest, module: str) -> None:
    """B22."""
    source = f"""
      import thing, * as names from 'system/{module}';
      const attempt = (change) => {{ try {{ change(); return 'changed'; }} catch (error) {{ return error.name; }} }};
      export const exec = () => {{
        const key = Object.keys(thing)[0];
        return [
          attempt(() => {{ thing[key] = 1; }}), attempt(() => {{ delete thing[key]; }}), attempt(() => {{ thing.more = 1; }}),
          attempt(() => Object.defineProperty(thing, key, {{ value: 1 }})), attempt(() => Object.setPrototypeOf(thing, {{}})),
          attempt(() => {{ names[key] = 1; }}), attempt(() => Object.defineProperty(names, key, {{ value: 1 }})),
          attempt(() => {{ names.more = 1; }}), Object.isFrozen(thing), thing[key] === names[key],
        ];
      }};
    """
    assert (await guest.run(source)).value == [*["TypeError"] * 8, True, True]


@pytest.mark.parametrize("error", ["Http.HttpError", "Tools.ToolRefusedError"])
async def test_error_classes_cannot_be_changed(guest: Guest, error: str) -> None:
    body = f"""
      const attempt = (change) => {{ try {{ change(); return 'changed'; }} catch (error) {{ return error.name; }} }};
      return [
        attempt(() => {{ {error}.prototype.name = 'x'; }}), attempt(() => {{ {error}.prototype.code = 'x'; }}),
        attempt(() => {{ {error}.x = 1; }}), attempt(() => Object.setPrototypeOf({error}.prototype, null)),
      ];
    """
    assert await guest.value(body) == ["TypeError"] * 4


async def test_context_cannot_be_changed(guest: Guest) -> None:
    body = "try { ctx.progress = 1; return 'changed'; } catch (error) { return [error.name, Object.isFrozen(ctx)]; }"
    assert await guest.value(body) == ["TypeError", True]


async def test_platform_functions_cannot_be_made_to_give_away_their_own(guest: Guest) -> None:
    """No stack trace, callback or receiver hands the script one of the stdlib's inner functions."""
    body = """
      const seen = [];
      Error.prepareStackTrace = (error, sites) => { seen.push(...sites.map((site) => site.getFunction?.())); return 'x'; };
      const spy = { get headers() { try { null.x; } catch (e) { void e.stack; } return {}; } };
      await Http.get('http://a.test/', spy).catch(() => {});
      try { Agent.setRootAgentPrompt({ get x() { throw 1; } }); } catch (e) { void e.stack; }
      Log.info({ toString() { try { null.x; } catch (e) { void e.stack; } return 's'; }, a: 1n });
      return seen.filter((f) => typeof f === 'function' && !/=> \\{|native/.test(String(f)) ).length;
    """
    assert await guest.value(body, perform=Answers()) == 0


@pytest.mark.parametrize(
    "thrown",
    [
        "{ get message() { throw new Error('inner'); } }",
        "{ get name() { throw null; }, message: 'm' }",
        "{ message: { toString() { throw 1; } } }",
        "{ name: Symbol('n'), message: Symbol('m') }",
        "new Proxy({}, { get() { throw new Error('trap'); } })",
        "(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()",
        "Object.assign(new Error('m'), { stack: { toString() { throw 1; } } })",
        "Object.assign(new Error('m'), { cause: 1n, code: {} })",
        "(() => { const e = new Error('m'); e.cause = e; return e; })()",
        "Object.create(null)",
        "() => {}",
        "new (class extends Error { get stack() { throw this; } })('m')",
        "Object.defineProperty(new Error('m'), 'stack', { get() { throw 1; } })",
        "new AggregateError([new Error('a')], 'many')",
        "new Error('x'.repeat(10 * 2 ** 20))",
        "'x'.repeat(10 * 2 ** 20)",
        "new Error('\\ud800 \\0 \\x1b[31m')",
    ],
)
@pytest.mark.parametrize("how", ["throw {};", "Promise.reject({}); await null;", "await Promise.reject({});"])
async def test_poisoned_error_is_reported(guest: Guest, thrown: str, how: str) -> None:
    """B24: one report of bounded size, whatever was thrown and however."""
    result = await guest.exec(f"const error = {thrown};\n{how.replace('{}', 'error')}")
    assert result.code in (FailureCode.THREW, FailureCode.UNHANDLED_REJECTION)
    assert result.message
    assert all(len(text or "") <= 20_000 for text in (result.message, result.stack, result.hint))
    result.message.encode("utf-8")


async def test_stack_that_a_script_forges_names_no_other_file(guest: Guest) -> None:
    body = """
      const error = new Error('m');
      error.stack = '    at f (/etc/passwd:1:1)\\n    at g (system/http:2:2)\\n    at h (tool.js:3:3)\\n    at i (tool.js:9e9:1)';
      throw error;
    """
    result = await guest.exec(body)
    assert result.stack == "    at h (tool.js:3:3)"
    assert result.location == ("tool.js", 3, 3)


async def test_prepare_stack_trace_does_not_change_the_report(guest: Guest) -> None:
    body = "Error.prepareStackTrace = () => 'forged'; Error.stackTraceLimit = 1;\nthrow new TypeError('real');"
    result = await guest.exec(body)
    assert result.message == "TypeError: real"
    assert result.location is None or result.location[:2] == ("tool.js", 3)


@pytest.mark.parametrize(
    ("returned", "outcome"),
    [
        ("{ then(resolve) { resolve('first'); resolve('second'); } }", "first"),
        (
            "{ then(resolve, reject) { resolve('first'); reject(new Error('late')); throw new Error('later'); } }",
            "first",
        ),
        ("{ then(resolve) { resolve({ then(inner) { inner('nested'); } }); } }", "nested"),
        ("{ then() {} }", FailureCode.DEADLOCK),
        ("{ then: 5 }", {"then": 5}),
        ("{ get then() { throw new Error('in then'); } }", FailureCode.THREW),
        ("{ then(_, reject) { reject(new Error('no')); } }", FailureCode.THREW),
        ("(() => { let p; p = Promise.resolve().then(() => p); return p; })()", FailureCode.THREW),
        ("new Promise(() => {})", FailureCode.DEADLOCK),
        ("new (class extends Promise {})((resolve) => resolve('sub'))", "sub"),
        ("Object.assign(Promise.resolve('own'), { then(f) { f('patched'); } })", "own"),
    ],
)
async def test_thenables_have_one_outcome(guest: Guest, returned: str, outcome: object) -> None:
    """B23."""
    result = await guest.run(f"export const exec = () => ({returned});")
    if isinstance(outcome, FailureCode):
        assert result.code == outcome
    else:
        assert (result.code, result.value) in ((None, outcome), (None, "patched"))


async def test_thenable_that_never_ends_is_cut(guest: Guest) -> None:
    body = "const again = { then(resolve) { resolve(again); } }; return again;"
    result = await guest.exec(body, limits=Limits(cpu_s=0.1))
    assert result.code in (FailureCode.CPU_EXCEEDED, FailureCode.MEMORY_EXCEEDED)


@pytest.mark.parametrize("place", ["headers", "query"])
async def test_values_are_converted_once_in_the_guest(guest: Guest, place: str) -> None:
    """B14: what is checked is what is sent."""
    body = f"""
      let n = 0;
      const changing = {{ [Symbol.toPrimitive]: () => `v${{++n}}` }};
      await Http.get('http://a.test/', {{ {place}: {{ a: changing }} }});
      return n;
    """
    answers = Answers()
    assert await guest.value(body, perform=answers) == 1
    assert (answers.ops[0].head["headers"] or answers.ops[0].head["url"]) in ({"a": "v1"}, "http://a.test/?a=v1")


async def test_large_body_is_converted_once(guest: Guest) -> None:
    """Also where its text grows while it is written."""
    body = """
      let n = 0;
      const value = { get count() { n += 1; return n; }, big: 'x'.repeat(300000), last: { toJSON: () => `${n}` } };
      await Http.postJson('http://a.test/', value);
      return n;
    """
    answers = Answers()
    assert await guest.value(body, perform=answers) == 1
    assert answers.ops[0].body.startswith(b'{"count":1,') and answers.ops[0].body.endswith(b',"last":"1"}')


async def test_what_a_tool_is_told_of_its_call_is_frozen(guest: Guest) -> None:
    body = """
      const attempt = (change) => { try { change(); return 'changed'; } catch (error) { return error.name; } };
      return [
        attempt(() => { toolOptions.toolContext.agentId = 'x'; }), attempt(() => { flowContext.sessionId = 'x'; }),
        attempt(() => { globalThis.toolOptions = {}; }), attempt(() => { delete toolOptions.toolContext; }),
      ];
    """
    call = Call(tool_options={"toolContext": {"agentId": "a"}}, flow_context={"sessionId": "s"})
    assert await guest.value(body, call=call) == ["TypeError"] * 4


async def test_globals_of_the_call_are_the_runs_own_copies(guest: Guest) -> None:
    call = Call(session={"x": [1]}, dictionary={"y": {}})
    for _ in range(2):
        body = (
            "const seen = [session.x.length, dictionary.y.z ?? 0]; dictionary.y.z = 2; session.x.push(2); return seen;"
        )
        assert await guest.value(body, call=call) == [1, 0]
    assert call.session == {"x": [1]}
