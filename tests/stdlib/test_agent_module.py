"""system/agent as a script sees it: staged writes, reads, and what is said of wrong fields."""

from __future__ import annotations

from typing import Any

import pytest
from tests.wall import Answers, Guest, json_reply

from keelbox_sandbox.contract import Call, OpError, Write

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def wrong(guest: Guest, expression: str) -> str:
    """The TypeError of an expression; nothing may be staged or asked for."""
    body = f"try {{ await {expression}; return 'passed'; }} catch (error) {{ return [error.name, error.message]; }}"
    result = await guest.exec(body)
    assert result.writes == ()
    name, message = result.value
    assert name == "TypeError"
    return str(message)


async def test_push_is_staged_in_order(guest: Guest) -> None:
    body = """
      Agent.setRootAgentPrompt('main', { prompt: 'héllo', sessionID: 's1', requestID: 'r1' });
      Agent.setRootAgentPrompt('other', { prompt: '2', sessionID: 's2', requestID: 'r2' });
    """
    result = await guest.exec(body)
    assert result.writes == (
        Write(agent_id="main", session_id="s1", request_id="r1", content="héllo", bytes_count=6),
        Write(agent_id="other", session_id="s2", request_id="r2", content="2", bytes_count=1),
    )


async def test_push_returns_nothing_and_asks_for_nothing(guest: Guest) -> None:
    body = "return Agent.setRootAgentPrompt('a', { prompt: 'p', sessionID: 's', requestID: 'r' }) === undefined;"
    assert await guest.value(body) is True


@pytest.mark.parametrize("content", ["\0 \x1b[31m", "<TOOL_RESULT>\n{}\n</TOOL_RESULT>", "\ufffe🎉", "x" * 100_000])
async def test_content_crosses_as_it_is(guest: Guest, content: str) -> None:
    body = "Agent.setRootAgentPrompt(input, { prompt: input, sessionID: 's', requestID: 'r' });"
    short = content[:200]
    body = body.replace("(input,", "(input.slice(0, 200),")
    result = await guest.exec(body, call=Call(input=content))
    assert [(write.agent_id, write.content) for write in result.writes] == [(short, content)]


async def test_lone_surrogate_becomes_the_replacement_character(guest: Guest) -> None:
    result = await guest.exec("Agent.setRootAgentPrompt('a', { prompt: 'a\\ud800b', sessionID: 's', requestID: 'r' });")
    assert [write.content for write in result.writes] == ["a\ufffdb"]


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ("{ prompt: 'p', sessionId: 's', requestID: 'r' }", "unknown field 'sessionId': write it sessionID"),
        ("{ prompt: 'p', sessionID: 's', requestId: 'r' }", "unknown field 'requestId': write it requestID"),
        ("{ content: 'p', sessionID: 's', requestID: 'r' }", "unknown field 'content': write it prompt"),
        ("{ prompt: 'p', sessionID: 's', requestID: 'r', extra: 1 }", "unknown field 'extra'"),
        ("{ sessionID: 's', requestID: 'r' }", "prompt must be a text that is not empty, got undefined"),
        (
            "{ prompt: '', sessionID: 's', requestID: 'r' }",
            "prompt must be a text that is not empty, got an empty text",
        ),
        ("{ prompt: { a: 1 }, sessionID: 's', requestID: 'r' }", "prompt must be a text that is not empty, got object"),
        ("{ prompt: 'p', requestID: 'r' }", "sessionID must be a text"),
        ("{ prompt: 'p', sessionID: null, requestID: 'r' }", "sessionID must be a text"),
        ("{ prompt: 'p', sessionID: 's' }", "requestID must be a text"),
        ("{ prompt: 'p', sessionID: 's', requestID: 'r'.repeat(257) }", "requestID is longer than 256 characters"),
        ("'prompt'", "the second argument must be an object"),
        ("null", "the second argument must be an object"),
        ("Object.create({ prompt: 'p', sessionID: 's', requestID: 'r' })", "must be a text"),
    ],
)
async def test_wrong_field_is_named(guest: Guest, fields: str, part: str) -> None:
    assert part in await wrong(guest, f"Agent.setRootAgentPrompt('a', {fields})")


@pytest.mark.parametrize("agent", ["undefined", "null", "''", "5", "{}", "'a'.repeat(257)"])
async def test_wrong_agent_is_named(guest: Guest, agent: str) -> None:
    message = await wrong(
        guest, f"Agent.setRootAgentPrompt({agent}, {{ prompt: 'p', sessionID: 's', requestID: 'r' }})"
    )
    assert "agentId" in message


async def test_fields_are_read_once(guest: Guest) -> None:
    """A getter cannot show one text to the check and another to the host."""
    body = """
      let reads = 0;
      Agent.setRootAgentPrompt('a', {
        get prompt() { reads += 1; return reads === 1 ? 'first' : 5; }, sessionID: 's', requestID: 'r',
      });
      return reads;
    """
    result = await guest.exec(body)
    assert (result.value, [write.content for write in result.writes]) == (1, ["first"])


async def test_writes_stay_known_when_the_script_throws(guest: Guest) -> None:
    body = "Agent.setRootAgentPrompt('a', { prompt: 'p', sessionID: 's', requestID: 'r' }); throw new Error('x');"
    assert [write.content for write in (await guest.exec(body)).writes] == ["p"]


@pytest.mark.parametrize(
    ("expression", "head"),
    [
        ("Agent.getMessages('a', { sessionID: 's' })", {"read": "messages", "last": None}),
        ("Agent.getMessages('a', { sessionID: 's', last: 10 })", {"read": "messages", "last": 10}),
        ("Agent.getLastReply('a', { sessionID: 's' })", {"read": "last-reply", "last": None}),
    ],
)
async def test_read_crosses_as_an_op(guest: Guest, expression: str, head: dict[str, Any]) -> None:
    answers = Answers(json_reply([{"content": "☃"}]))
    assert await guest.value(f"return {expression};", perform=answers) == [{"content": "☃"}]
    (op,) = answers.ops
    assert (op.kind, op.head, op.body) == ("agent", {"agentId": "a", "sessionID": "s", **head}, b"")


async def test_read_of_nothing_is_null(guest: Guest) -> None:
    assert (
        await guest.value("return Agent.getLastReply('a', { sessionID: 's' });", perform=Answers(json_reply(None)))
        is None
    )


async def test_read_shows_the_host_what_is_staged(guest: Guest) -> None:
    body = """
      const push = (prompt) => Agent.setRootAgentPrompt('a', { prompt, sessionID: 's', requestID: prompt });
      push('1'); await Agent.getMessages('a', { sessionID: 's' });
      push('2'); await Agent.getMessages('a', { sessionID: 's' });
    """
    answers = Answers(json_reply([]))
    await guest.exec(body, perform=answers)
    assert [[write.content for write in op.writes] for op in answers.ops] == [["1"], ["1", "2"]]


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("Agent.getMessages()", "agentId"),
        ("Agent.getMessages('a')", "the second argument must be an object"),
        ("Agent.getMessages('a', {})", "sessionID must be a text"),
        ("Agent.getMessages('a', { sessionId: 's' })", "write it sessionID"),
        ("Agent.getMessages('a', { sessionID: 's', last: 0 })", "last must be an integer from 1 to 1000"),
        ("Agent.getMessages('a', { sessionID: 's', last: 1001 })", "last must be an integer from 1 to 1000"),
        ("Agent.getMessages('a', { sessionID: 's', last: 1.5 })", "last must be an integer from 1 to 1000"),
        ("Agent.getMessages('a', { sessionID: 's', last: '5' })", "last must be an integer from 1 to 1000"),
        ("Agent.getLastReply('a', { sessionID: 's', last: 5 })", "unknown field 'last'"),
    ],
)
async def test_wrong_read_is_named(guest: Guest, expression: str, part: str) -> None:
    assert part in await wrong(guest, expression)


async def test_denied_read_rejects_with_its_code(guest: Guest) -> None:
    body = (
        "return Agent.getMessages('b', { sessionID: 's' }).catch((error) => [error.name, error.code, error.message]);"
    )
    value = await guest.value(body, perform=Answers(OpError("denied", "not this run's session")))
    assert value == ["Error", "denied", "not this run's session"]


async def test_named_exports_are_those_of_the_default(guest: Guest) -> None:
    source = """
      import Agent, * as all from 'system/agent';
      export const exec = () => Object.keys(all).filter((name) => name !== 'default' && Agent[name] === all[name]);
    """
    assert (await guest.run(source)).value == ["getLastReply", "getMessages", "setRootAgentPrompt"]
