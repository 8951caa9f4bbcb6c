"""What a script is given, and what comes back on a clean return."""

from __future__ import annotations

from typing import Any

import pytest
from tests.wall import Answers, Guest, json_reply

from keelbox_sandbox.contract import Call, Event, LogLine, Progress

pytestmark = pytest.mark.anyio


VALUES: list[tuple[str, Any]] = [
    ("null", None),
    ("undefined", None),
    ("true", True),
    ("''", ""),
    ("'héllo ☃ 🎉 \\u0000 \\n \"'", 'héllo ☃ 🎉 \0 \n "'),
    ("0", 0),
    ("-1.5e300", -1.5e300),
    ("2 ** 53 - 1", 2**53 - 1),
    ("[1, [2, [3]], {}]", [1, [2, [3]], {}]),
    ("{ a: { b: [null, undefined], left_out: undefined } }", {"a": {"b": [None, None]}}),
    ("Object.create(null, { a: { value: 1, enumerable: true } })", {"a": 1}),
]


@pytest.mark.parametrize(("written", "value"), VALUES)
async def test_value_comes_back(guest: Guest, written: str, value: Any) -> None:
    returned = await guest.value(f"return {written};")
    assert returned == value
    assert type(returned) is type(value)


async def test_exec_need_not_be_async(guest: Guest) -> None:
    result = await guest.run("export function exec(input) { return input + 1; }", call=Call(input=1))
    assert (result.code, result.value) == (None, 2)


async def test_exec_without_return_is_clean(guest: Guest) -> None:
    result = await guest.run("export const exec = () => {};")
    assert (result.code, result.value) == (None, None)


async def test_exec_may_be_exported_under_its_name(guest: Guest) -> None:
    result = await guest.run("const run = () => 'renamed'; export { run as exec };")
    assert result.value == "renamed"


@pytest.mark.parametrize("value", [None, "text", 1.5, [], {"a": [1, {"b": None}], "": "empty", "ключ": "☃"}])
async def test_input_arrives(guest: Guest, value: Any) -> None:
    assert await guest.value("return input;", call=Call(input=value)) == value


async def test_ambient_arrives_frozen(guest: Guest) -> None:
    ambient = {"userId": "u", "threadId": "t", "scope": {"workspaceId": "w", "list": [{"a": 1}]}}
    body = """
      const attempt = (change) => { try { change(); return 'changed'; } catch (error) { return error.name; } };
      return [
        ambient,
        attempt(() => { ambient.userId = 'x'; }),
        attempt(() => { ambient.scope.workspaceId = 'x'; }),
        attempt(() => { ambient.scope.list[0].a = 2; }),
        attempt(() => { ambient.scope.list.push(2); }),
        attempt(() => { delete ambient.threadId; }),
      ];
    """
    assert await guest.value(body, call=Call(ambient=ambient)) == [ambient, *["TypeError"] * 5]


async def test_globals_of_the_call_arrive(guest: Guest) -> None:
    call = Call(tool_options={"toolContext": {"agentId": "main"}}, flow_context={"sessionId": "s"})
    value = await guest.value("return [toolOptions, flowContext, dictionary, session];", call=call)
    assert value == [{"toolContext": {"agentId": "main"}}, {"sessionId": "s"}, {}, {}]


async def test_globals_of_the_call_are_there_while_modules_load(guest: Guest) -> None:
    source = "const seen = toolOptions.a; export const exec = () => seen;"
    assert (await guest.run(source, call=Call(tool_options={"a": "early"}))).value == "early"


async def test_dictionary_and_session_come_back_changed(guest: Guest) -> None:
    call = Call(dictionary={"kept": 1, "gone": 2}, session={"count": 1})
    result = await guest.exec("dictionary.added = [3]; delete dictionary.gone; session.count += 1;", call=call)
    assert (result.dictionary, result.session) == ({"kept": 1, "added": [3]}, {"count": 2})
    assert call.dictionary == {"kept": 1, "gone": 2}


async def test_failed_run_gives_no_dictionary_and_session(guest: Guest) -> None:
    result = await guest.exec("dictionary.a = 1; session.a = 1; throw new Error('no');")
    assert (result.value, result.dictionary, result.session) == (None, None, None)


async def test_top_level_await_may_make_a_request(guest: Guest) -> None:
    source = """
      import Http from 'system/http';
      const { body } = await Http.getJson('http://a.test/');
      export const exec = () => body.answer;
    """
    assert (await guest.run(source, perform=Answers(json_reply({"answer": 42})))).value == 42


async def test_progress_and_logs_are_observed_in_order(guest: Guest) -> None:
    seen: list[Event] = []
    body = """
      Log.info('one'); ctx.progress({ step: 2 }); Log.error('three');
      await Http.get('http://a.test/');
      ctx.progress('four');
    """
    answers = Answers()
    result = await guest.exec(body, observe=seen.append, perform=answers)
    assert seen == [
        LogLine(level="info", text="one"),
        Progress(data={"step": 2}),
        LogLine(level="error", text="three"),
        Progress(data="four"),
    ]
    assert result.logs == (seen[0], seen[2])


async def test_observed_before_the_op_is_performed(guest: Guest) -> None:
    seen: list[Event] = []
    seen_at_op: list[int] = []

    async def perform(op: Any) -> Any:
        seen_at_op.append(len(seen))
        return json_reply(None)

    await guest.exec("Log.info('a'); await Http.get('http://a.test/');", observe=seen.append, perform=perform)
    assert seen_at_op == [1]


@pytest.mark.parametrize("written", ["undefined", "() => 1", "10n", "'x'.repeat(5000)"])
async def test_progress_that_is_not_short_json(guest: Guest, written: str) -> None:
    seen: list[Event] = []
    body = f"try {{ ctx.progress({written}); return 'taken'; }} catch (error) {{ return error.name; }}"
    result = await guest.exec(body, observe=seen.append)
    if written == "undefined":
        assert (result.value, seen) == ("taken", [Progress(data=None)])
    else:
        assert (result.value, seen) == ("RangeError" if "repeat" in written else "TypeError", [])


async def test_signal_is_there_and_not_aborted(guest: Guest) -> None:
    value = await guest.value(
        "return [ctx.signal instanceof AbortSignal, ctx.signal.aborted, ctx.signal === ctx.signal];"
    )
    assert value == [True, False, True]


async def test_usage_tells_what_the_run_took(guest: Guest) -> None:
    answers = Answers(json_reply("x" * 1000))
    result = await guest.exec("await Http.post('http://a.test/', 'y'.repeat(100));", perform=answers)
    usage = result.usage
    assert (usage.requests_count, usage.bytes_out, usage.bytes_in) == (1, 100, 1002)
    assert usage.buffer_peak_bytes >= 1002
    assert 0 < usage.cpu_s < usage.wall_s
    assert 0 < usage.peak_heap_bytes < 2 * 1024 * 1024
    assert result.walls


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_same_on_the_other_event_loop(guest: Guest) -> None:
    answers = Answers(json_reply({"a": 1}))
    assert await guest.value("return (await Http.getJson('http://a.test/')).body;", perform=answers) == {"a": 1}
