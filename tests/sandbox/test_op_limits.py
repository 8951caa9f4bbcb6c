"""The limits of requests, writes and logs, each exactly at the limit and one beyond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.wall import KIB, MIB, Answers, Guest, reply

from keelbox_sandbox.contract import Call, Event, FailureCode, Limits, LogLine, Progress, RefusedOp

pytestmark = pytest.mark.anyio

CAUGHT = "const attempt = async (f) => { try { return (await f())?.body?.length ?? 'done'; } catch (e) { return e.code; } };\n"
PUSH = "const push = (prompt) => Agent.setRootAgentPrompt('a', { prompt, sessionID: 's', requestID: 'r' });\n"


async def attempts(guest: Guest, body: str, value: Any, limits: Limits, answers: Answers | None = None) -> Any:
    return await guest.value(CAUGHT + PUSH + body, call=Call(input=value), limits=limits, perform=answers or Answers())


@pytest.mark.parametrize("get", ["getText", "getBytes", "getJson"])
async def test_response_of_exactly_the_buffer_passes(guest: Guest, get: str) -> None:
    limits = Limits(buffer_mib=0.25)
    exact, beyond = (b'"' + b"x" * (size - 2) + b'"' for size in (limits.buffer_bytes, limits.buffer_bytes + 1))
    body = f"const get = () => attempt(() => Http.{get}('http://a.test/')); return [await get(), await get(), await get()];"
    value = await attempts(guest, body, None, limits, Answers(reply(exact), reply(beyond), reply(exact)))
    length = len(exact) - 2 if get == "getJson" else len(exact)
    assert value == [length, "response-too-large", length]


async def test_response_of_exactly_the_default_buffer_passes(guest: Guest) -> None:
    body = "const get = () => attempt(() => Http.getBytes('http://a.test/')); return [await get(), await get()];"
    answers = Answers(reply(bytes(10 * MIB)), reply(bytes(10 * MIB + 1)))
    assert await attempts(guest, body, None, Limits(), answers) == [10 * MIB, "response-too-large"]


async def test_op_names_the_room(guest: Guest) -> None:
    answers = Answers()
    await attempts(guest, "await Http.get('http://a.test/');", None, Limits(buffer_mib=2), answers)
    assert answers.ops[0].room_bytes == 2 * MIB


@pytest.mark.parametrize(("letter", "letter_bytes"), [("x", 1), ("é", 2), ("🎉", 4)])
async def test_request_of_exactly_the_buffer_is_sent(guest: Guest, letter: str, letter_bytes: int) -> None:
    """Its body counts, in UTF-8; a longer one is not sent."""
    limits = Limits(buffer_mib=0.125)
    body = "return await attempt(() => Http.post('http://a.test/', input));"
    exact = letter * (limits.buffer_bytes // letter_bytes)
    answers = Answers()
    assert await attempts(guest, body, exact, limits, answers) == 0
    assert answers.ops[0].body == exact.encode()
    assert await attempts(guest, body, exact + "x", limits) == "request-too-large"


async def test_json_request_of_exactly_the_buffer_is_sent(guest: Guest) -> None:
    """The body is the JSON text, quotes and escapes included."""
    limits = Limits(buffer_mib=0.125)
    body = "return await attempt(() => Http.postJson('http://a.test/', input));"
    answers = Answers()
    assert await attempts(guest, body, "\n" * (limits.buffer_bytes // 2 - 1), limits, answers) == "done"
    assert len(answers.ops[0].body) == limits.buffer_bytes


@pytest.mark.parametrize("part", ["url", "headers"])
async def test_request_with_a_huge_head_is_not_sent(guest: Guest, part: str) -> None:
    body = f"const long = 'x'.repeat(130 * 1024); return await attempt(() => Http.request({HUGE[part]}));"
    assert await attempts(guest, body, None, Limits()) == "request-too-large"


HUGE = {"url": "{ url: long }", "headers": "{ url: 'http://a.test/', headers: { a: long } }"}


async def test_request_that_is_too_large_is_reported(guest: Guest) -> None:
    seen: list[Event] = []
    body = "await Http.put('http://a.test/', 'x'.repeat(200000)).catch(() => {}); return (await Http.get('http://b.test/')).status;"
    answers = Answers()
    result = await guest.exec(body, limits=Limits(buffer_mib=0.125), perform=answers, observe=seen.append)
    refused = RefusedOp(kind="http", method="PUT", url="http://a.test/", code="request-too-large")
    assert (result.value, result.refused_ops, seen) == (200, (refused,), [refused])
    assert [op.head["url"] for op in answers.ops] == ["http://b.test/"]


async def test_as_many_requests_as_may_be(guest: Guest) -> None:
    answers = Answers()
    body = "const all = []; for (let i = 0; i < input; i++) all.push(await attempt(() => Http.get('http://a.test/'))); return all;"
    value = await attempts(guest, body, 7, Limits(requests_count=5), answers)
    assert (value, len(answers.ops)) == ([0] * 5 + ["too-many-requests"] * 2, 5)
    assert [op.number for op in answers.ops] == [1, 2, 3, 4, 5]


async def test_reads_count_as_requests(guest: Guest) -> None:
    body = "await Http.get('http://a.test/'); return attempt(() => Agent.getMessages('a', { sessionID: 's' }));"
    assert await attempts(guest, body, None, Limits(requests_count=1)) == "too-many-requests"


async def test_loop_of_requests_ends(guest: Guest) -> None:
    """R16: a script that tries again and again comes to the limit and then to its own error."""
    answers = Answers()
    result = await guest.exec("for (;;) await Http.get('http://a.test/');", perform=answers)
    assert result.code == FailureCode.THREW
    assert result.message is not None and "[too-many-requests]" in result.message
    assert len(answers.ops) == 100


@pytest.mark.parametrize(("letter", "letter_bytes"), [("x", 1), ("é", 2), ("🎉", 4)])
async def test_message_of_exactly_the_limit(guest: Guest, letter: str, letter_bytes: int) -> None:
    body = (
        "return [await attempt(() => push(input.repeat(1024))), await attempt(() => push(input.repeat(1024) + 'x'))];"
    )
    limits = Limits(message_mib=letter_bytes / 1024)
    assert await attempts(guest, body, letter, limits) == ["done", "message-too-large"]


async def test_message_of_exactly_the_default_limit(guest: Guest) -> None:
    body = (
        PUSH
        + "push('x'.repeat(8 * 2 ** 20)); try { push('x'.repeat(8 * 2 ** 20 + 1)); } catch (error) { return error.code; }"
    )
    result = await guest.exec(body)
    assert result.value == "message-too-large"
    assert [write.bytes_count for write in result.writes] == [8 * MIB]
    assert result.writes[0].content == "x" * 8 * MIB


async def test_as_many_writes_as_may_be(guest: Guest) -> None:
    body = "const all = []; for (let i = 0; i < 5; i++) all.push(await attempt(() => push(`${i}`))); return all;"
    assert await attempts(guest, body, None, Limits(writes_count=3)) == ["done"] * 3 + ["too-many-writes"] * 2


async def test_writes_together_of_exactly_the_limit(guest: Guest) -> None:
    body = "return [await attempt(() => push('é'.repeat(300))), await attempt(() => push('x'.repeat(424))), await attempt(() => push('x'))];"
    assert await attempts(guest, body, None, Limits(staged_mib=1 / 1024)) == ["done", "done", "staged-too-large"]


async def test_refused_write_leaves_room_for_a_smaller_one(guest: Guest) -> None:
    body = "return [await attempt(() => push('x'.repeat(2000))), await attempt(() => push('small'))];"
    result = await guest.exec(CAUGHT + PUSH + body, limits=Limits(staged_mib=1 / 1024))
    assert result.value == ["staged-too-large", "done"]
    assert [write.content for write in result.writes] == ["small"]


async def test_all_default_room_can_be_staged_and_read_back(guest: Guest) -> None:
    body = PUSH + "push('é'.repeat(4 * 2 ** 20)); push('x'.repeat(8 * 2 ** 20)); await Http.get('http://a.test/');"
    answers = Answers()
    result = await guest.exec(body, perform=answers)
    assert result.code is None, result.message
    assert sum(write.bytes_count for write in result.writes) == 16 * MIB
    assert answers.ops[0].writes == result.writes


async def test_refused_requests_do_not_pile_up(guest: Guest) -> None:
    """Between two answers 200 are told, in a run 1,000, each shortened."""
    body = """
      const long = 'X'.repeat(5000);
      for (let i = 0; i < 7; i++) {
        const open = Http.get('http://a.test/');
        for (let j = 0; j < 250; j++) Http.request({ method: long, url: long }).catch(() => {});
        await open;
      }
    """
    seen: list[Event] = []
    result = await guest.exec(body, perform=Answers(), observe=seen.append)
    assert result.code is None, result.message
    assert len(result.refused_ops) == len(seen) == 1000
    assert {(len(op.method), len(op.url)) for op in result.refused_ops} == {(32, 2048)}


async def test_progress_does_not_pile_up(guest: Guest) -> None:
    """Between two answers 200 are told; the rest are dropped."""
    body = """
      for (let i = 0; i < 300; i++) ctx.progress(i);
      await Http.get('http://a.test/');
      ctx.progress('after');
    """
    seen: list[Event] = []
    result = await guest.exec(body, perform=Answers(), observe=seen.append)
    assert result.code is None
    assert seen == [Progress(data=data) for data in [*range(200), "after"]]


LOG_MARKER = "further log lines were dropped"


async def logged(guest: Guest, body: str, limits: Limits, names: Mapping[str, Any] | None = None) -> list[LogLine]:
    result = await guest.exec(body, limits=limits, call=Call(input=dict(names or {})))
    assert result.code is None, result.message
    return list(result.logs)


async def test_as_many_log_lines_as_may_be(guest: Guest) -> None:
    lines = await logged(guest, "for (let i = 0; i < 10; i++) Log.info(`${i}`);", Limits(log_lines_count=10))
    assert [line.text for line in lines] == [str(i) for i in range(10)]


async def test_one_line_says_how_many_were_dropped(guest: Guest) -> None:
    lines = await logged(guest, "for (let i = 0; i < 13; i++) Log.debug(`${i}`);", Limits(log_lines_count=10))
    assert [line.text for line in lines[:-1]] == [str(i) for i in range(10)]
    assert lines[-1].level == "warning"
    assert lines[-1].text == f"3 {LOG_MARKER} (log_lines_count 10, log_kib 256)"


@pytest.mark.parametrize(("letter", "letter_bytes"), [("x", 1), ("é", 2), ("🎉", 4)])
async def test_log_text_of_exactly_the_limit(guest: Guest, letter: str, letter_bytes: int) -> None:
    exact = f"Log.info('{letter}'.repeat({KIB // letter_bytes}));"
    assert len(await logged(guest, exact, Limits(log_kib=1))) == 1
    lines = await logged(guest, f"{exact} Log.info('x');", Limits(log_kib=1))
    assert len(lines) == 2
    assert lines[1].text.startswith(f"1 {LOG_MARKER}")


async def test_log_without_end_is_cut_at_the_caps(guest: Guest) -> None:
    """R13: hundreds of thousands of lines leave no more than the caps in the host."""
    body = "for (let i = 0; i < 300000; i++) Log.info('line', i);"
    lines = await logged(guest, body, Limits(cpu_s=30, wall_s=60))
    assert len(lines) == 1001
    assert lines[-1].text.startswith(f"299000 {LOG_MARKER}")


async def test_one_huge_log_line_is_dropped(guest: Guest) -> None:
    """R13: also where there is no memory for a second copy of it; a log line never breaks a tool."""
    lines = await logged(guest, "Log.info('x'.repeat(20 * 2 ** 20)); Log.info('after');", Limits())
    assert len(lines) == 1
    assert lines[0].text.startswith(f"2 {LOG_MARKER}")


async def test_dropped_lines_of_a_cut_run_are_told_too(guest: Guest) -> None:
    body = "for (let i = 0; i < 5; i++) Log.info(`${i}`); for (;;);"
    result = await guest.exec(body, limits=Limits(log_lines_count=2, cpu_s=0.05))
    assert result.code == FailureCode.CPU_EXCEEDED
    assert [line.text for line in result.logs[:2]] == ["0", "1"]
    assert result.logs[2].text.startswith(f"3 {LOG_MARKER}")


async def test_dropped_lines_are_told_once(guest: Guest) -> None:
    body = "for (let i = 0; i < 4; i++) { Log.info(`${i}`); await Http.get('http://a.test/'); }"
    result = await guest.exec(body, limits=Limits(log_lines_count=1), perform=Answers())
    assert [line.text[:2] for line in result.logs] == ["0", "3 "]
