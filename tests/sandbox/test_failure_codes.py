"""Every way in which a run is not clean, for real: code, message, hint, stack and place."""

from __future__ import annotations

import anyio
import pytest
from tests.wall import Answers, Guest, json_reply, reply

from keelbox_sandbox.contract import Call, Event, FailureCode, Limits, LogLine, Op, OpError, Reply

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("export default { exec: () => 1 };", "the entry module does not export exec"),
        ("const exec = () => 1;", "the entry module does not export exec"),
        ("export const exec = 5;", "exec is a number, not a function"),
        ("export let exec = null;", "exec is a object, not a function"),
    ],
)
async def test_no_exec(guest: Guest, source: str, message: str) -> None:
    result = await guest.run(source)
    assert (result.code, result.message) == (FailureCode.NO_EXEC, message)
    assert result.hint is not None and "export const exec" in result.hint


async def test_thrown_error_has_message_stack_and_place(guest: Guest) -> None:
    lib = "export const fail = () => {\n  throw new RangeError('too far');\n};"
    source = "import { fail } from './lib/fail.js';\nexport const exec = async () => {\n  await null;\n  fail();\n};"
    result = await guest.run(guest.script(source, {"lib/fail.js": lib}))
    assert (result.code, result.message) == (FailureCode.THREW, "RangeError: too far")
    assert result.location is not None and result.location[:2] == ("lib/fail.js", 2)
    assert result.stack is not None
    assert [line.split("(")[1].rsplit(":", 1)[0] for line in result.stack.splitlines()] == [
        "lib/fail.js:2",
        "tool.js:4",
    ]


async def test_stack_shows_only_the_authors_files(guest: Guest) -> None:
    result = await guest.exec("Agent.setRootAgentPrompt('a', null);")
    assert result.code == FailureCode.THREW
    assert result.stack is not None and "keelbox:" not in result.stack and "system/" not in result.stack
    assert result.location is not None and result.location[:2] == ("tool.js", 2)


@pytest.mark.parametrize(
    ("thrown", "message"),
    [
        ("null", "null (thrown as a null, not an Error)"),
        ("undefined", "undefined (thrown as a undefined, not an Error)"),
        ("'text'", "text (thrown as a string, not an Error)"),
        ("12n", "12 (thrown as a bigint, not an Error)"),
        ("Symbol('s')", "Symbol(s) (thrown as a symbol, not an Error)"),
    ],
)
async def test_what_is_thrown_need_not_be_an_error(guest: Guest, thrown: str, message: str) -> None:
    result = await guest.exec(f"throw {thrown};")
    assert result.code == FailureCode.THREW
    assert result.message is not None and message in result.message


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("await fetch('http://a.test/');", "system/http"),
        ("require('axios');", "import"),
        ("process.env.KEY;", "input"),
        ("setTimeout(() => {}, 1);", "no timers"),
        ("crypto.randomUUID();", "system/tools"),
        ("console.log('x');", "system/log"),
        ("Buffer.from('x');", "Uint8Array"),
    ],
)
async def test_missing_global_is_answered_with_what_to_use(guest: Guest, body: str, hint: str) -> None:
    result = await guest.exec(body)
    assert result.code == FailureCode.THREW
    assert result.message is not None and result.message.startswith("ReferenceError: ")
    assert result.hint is not None and hint in result.hint


@pytest.mark.parametrize(
    "body",
    [
        "throw new Tools.ToolRefusedError('no city given');",
        "const error = new Error('no city given'); error.name = 'ToolRefusedError'; throw error;",
        "class ToolRefusedError extends Error { name = 'ToolRefusedError' } throw new ToolRefusedError('no city given');",
    ],
)
async def test_refused(guest: Guest, body: str) -> None:
    result = await guest.exec(body)
    assert (result.code, result.message) == (FailureCode.REFUSED, "no city given")


async def test_request_that_is_not_awaited_is_detached(guest: Guest) -> None:
    """T7: it is not sent, and the run is not clean."""
    answers = Answers()
    result = await guest.exec("Http.post('http://a.test/', 'x'); return 1;", perform=answers)
    assert (result.code, answers.ops) == (FailureCode.DETACHED_OP, [])
    assert result.hint is not None and "await" in result.hint


async def test_request_after_an_answer_is_detached_too(guest: Guest) -> None:
    answers = Answers()
    body = "await Http.get('http://a.test/1'); Http.get('http://a.test/2').catch(() => {}); return 1;"
    result = await guest.exec(body, perform=answers)
    assert (result.code, len(answers.ops)) == (FailureCode.DETACHED_OP, 1)


async def test_request_after_the_return_is_refused(guest: Guest) -> None:
    """T11: nothing can be asked for once exec has settled."""
    body = """
      let settled; const done = new Promise((resolve) => { settled = resolve; });
      Promise.resolve().then(async () => { for (let i = 0; i < 20; i++) await null; }).then(async () => {
        const late = [];
        try { Agent.setRootAgentPrompt('a', { prompt: 'p', sessionID: 's', requestID: 'r' }); } catch (e) { late.push(e.code); }
        try { await Http.get('http://a.test/'); } catch (e) { late.push(e.code); }
        Log.info(...late);
      });
      return 'returned';
    """
    result = await guest.exec(body)
    assert (result.code, result.value, result.writes) == (None, "returned", ())
    assert result.logs == (LogLine(level="info", text="ended ended"),)


async def test_unhandled_rejection(guest: Guest) -> None:
    result = await guest.exec("Promise.reject(new Error('forgotten'));\nreturn 1;")
    assert (result.code, result.message) == (FailureCode.UNHANDLED_REJECTION, "Error: forgotten")
    assert result.location is not None and result.location[:2] == ("tool.js", 2)
    assert result.hint is not None and "nobody waited" in result.hint


async def test_unhandled_rejection_of_several_names_one_that_is_left(guest: Guest) -> None:
    body = """
      const first = Promise.reject(new Error('first'));
      Promise.reject(new Error('second'));
      await null;
      first.catch(() => {});
    """
    result = await guest.exec(body)
    assert (result.code, result.message) == (FailureCode.UNHANDLED_REJECTION, "Error: second")


async def test_rejection_that_is_handled_in_time_is_clean(guest: Guest) -> None:
    body = "const p = Promise.reject(new Error('x')); await null; await p.catch(() => 0); return 'fine';"
    assert await guest.value(body) == "fine"


async def test_throw_in_a_microtask_is_an_unhandled_failure(guest: Guest) -> None:
    result = await guest.exec("queueMicrotask(() => { throw new Error('aside'); }); await null; await null; return 1;")
    assert result.code in (FailureCode.THREW, FailureCode.UNHANDLED_REJECTION)
    assert result.message == "Error: aside"


async def test_promise_that_never_settles_is_a_deadlock(guest: Guest) -> None:
    result = await guest.exec("await new Promise(() => {});", limits=Limits(cpu_s=60, wall_s=600))
    assert result.code == FailureCode.DEADLOCK
    assert result.hint is not None and "resolve" in result.hint
    assert result.usage.wall_s < 60


async def test_promise_that_nobody_waits_for_is_no_deadlock(guest: Guest) -> None:
    assert await guest.value("new Promise(() => {}).then(() => 1); return 'done';") == "done"


async def test_module_that_never_finishes_loading_is_a_deadlock(guest: Guest) -> None:
    result = await guest.run("await new Promise(() => {}); export const exec = () => 1;")
    assert result.code == FailureCode.DEADLOCK


async def test_request_that_takes_too_long(guest: Guest) -> None:
    async def never(op: Op) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    result = await guest.exec(
        "Log.info('asked'); await Http.get('http://a.test/');", perform=never, limits=Limits(wall_s=0.2)
    )
    assert result.code == FailureCode.TIME_EXCEEDED
    assert result.message is not None and "0.2 s" in result.message
    assert result.logs == (LogLine(level="info", text="asked"),)


async def test_loop_is_cut_by_wall_time_too(guest: Guest) -> None:
    result = await guest.exec("for (;;);", limits=Limits(cpu_s=60, wall_s=0.2))
    assert result.code == FailureCode.TIME_EXCEEDED


@pytest.mark.parametrize("error", [KeyError("x"), MemoryError(), TimeoutError(), ValueError("/secret/path"), OSError()])
async def test_host_that_fails_ends_the_run(guest: Guest, error: Exception) -> None:
    """B9, B10: no detail of the host's failure is told."""
    body = "try { await Http.get('http://a.test/'); } catch {} return 1;"
    result = await guest.exec(body, perform=Answers(error))
    assert result.code == FailureCode.HOST_ERROR
    assert result.message == f"the host failed to perform the operation ({type(error).__name__})"
    assert "secret" not in repr(result)


@pytest.mark.parametrize(
    "answer",
    [
        Reply(head={"status": float("nan")}),
        Reply(head={"status": b"200"}),
        Reply(head={1: 2}),  # type: ignore[dict-item]
        Reply(head={"status": 200, "headers": {"x": "\ud800"}}),
    ],
)
async def test_host_whose_answer_is_not_json_ends_the_run(guest: Guest, answer: Reply) -> None:
    result = await guest.exec("await Http.get('http://a.test/');", perform=Answers(answer))
    assert result.code == FailureCode.HOST_ERROR


@pytest.mark.parametrize("value", [float("nan"), 2**53, b"bytes", {1: 2}, "\ud800", {"a": {1, 2}}])
async def test_call_that_is_not_json_is_the_hosts_failure(guest: Guest, value: object) -> None:
    result = await guest.exec("return 1;", call=Call(input=value))
    assert result.code == FailureCode.HOST_ERROR


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
async def test_exit_passes_through_and_the_next_run_is_right(guest: Guest, error: type[BaseException]) -> None:
    with pytest.raises(error):
        await guest.exec("await Http.get('http://a.test/');", perform=Answers(error()))
    assert await guest.value("return 'next';") == "next"


async def test_what_was_logged_and_staged_before_a_cut_is_known(guest: Guest) -> None:
    seen: list[Event] = []
    body = """
      Log.info('before');
      Agent.setRootAgentPrompt('main', { prompt: 'p', sessionID: 's', requestID: 'r' });
      for (;;);
    """
    result = await guest.exec(body, limits=Limits(cpu_s=0.1), observe=seen.append)
    assert result.code == FailureCode.CPU_EXCEEDED
    assert [*result.logs, *result.writes] == seen
    assert [type(event).__name__ for event in seen] == ["LogLine", "Write"]


async def test_place_of_a_cut_is_the_line_of_the_loop(guest: Guest) -> None:
    body = "let n = 0;\nawait null;\nwhile (n >= 0) {\n  n += 1;\n}\n"
    result = await guest.exec(body, limits=Limits(cpu_s=0.1))
    assert result.location is not None
    assert result.location[0] == "tool.js"
    assert result.location[1] in (4, 5)


async def test_failed_op_that_is_not_caught_shows_its_code(guest: Guest) -> None:
    result = await guest.exec("\nawait Http.get('http://a.test/');", perform=Answers(OpError("denied", "not allowed")))
    assert (result.code, result.message) == (FailureCode.THREW, "HttpError: not allowed [denied]")
    assert result.location is not None and result.location[:2] == ("tool.js", 3)
    assert result.hint is not None and "hosts" in result.hint


async def test_answer_that_is_not_used_is_no_failure(guest: Guest) -> None:
    assert await guest.value("await Http.get('http://a.test/'); return 1;", perform=Answers(reply(b"\xff"))) == 1


async def test_next_run_is_right_after_each_failure(guest: Guest) -> None:
    for body in ("throw 1;", "for (;;);", "new Uint8Array(2 ** 31);", "await new Promise(() => {});", "return 1n;"):
        result = await guest.exec(body, limits=Limits(cpu_s=0.05, wall_s=5))
        assert result.code is not None
        answers = Answers(json_reply({"ok": 1}))
        assert await guest.value("return (await Http.getJson('http://a.test/')).body.ok;", perform=answers) == 1
