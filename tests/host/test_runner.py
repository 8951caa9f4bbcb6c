"""What a run is given, what it leaves in the conversation, and what its certificate lists."""

from __future__ import annotations

import anyio
import pytest
from tests.host.runs import CALLER, Gate, contents, run
from tests.servers.fault_server import FaultServer

from keelbox.conversation import MemoryConversation
from keelbox.egress.method_rule import MethodRule
from keelbox.outcome import Effects, Fate, RunOutcome
from keelbox.runner import Caller
from keelbox_sandbox.contract import Event, FailureCode, Limits, LogLine, Progress, Write
from keelbox_sandbox.wasm import WasmSandbox

pytestmark = pytest.mark.anyio


async def test_clean_return_commits_the_writes(sandbox: WasmSandbox) -> None:
    conversation = MemoryConversation()
    outcome = await run(sandbox, "push('one'); push('two'); return 7;", conversation=conversation)

    assert (outcome.code, outcome.result, outcome.certificate.effects) == (None, 7, Effects.COMMITTED)
    assert await contents(conversation) == ["one", "two"]
    assert [(message.role, message.run_id) for message in outcome.messages] == [
        ("user", outcome.certificate.run_id)
    ] * 2
    assert [(write.bytes_count, write.committed) for write in outcome.certificate.writes] == [(3, True)] * 2


async def test_write_with_a_used_request_id_is_not_in_the_conversation(sandbox: WasmSandbox) -> None:
    """A reused id is the earlier message again: the certificate does not count what was not written."""
    body = """for (const prompt of ['first', 'second'])
        Agent.setRootAgentPrompt('main', { prompt, sessionID: 'caller-session', requestID: 'the-same' });"""
    conversation = MemoryConversation()
    outcome = await run(sandbox, body, conversation=conversation)
    assert await contents(conversation) == ["first"]
    assert [message.content for message in outcome.messages] == ["first"]
    assert [write.committed for write in outcome.certificate.writes] == [True, False]


async def test_throw_after_a_push_writes_nothing(sandbox: WasmSandbox) -> None:
    conversation = MemoryConversation()
    outcome = await run(sandbox, "push('half'); throw new Error('no');", conversation=conversation)

    assert (outcome.code, outcome.certificate.effects) == (FailureCode.THREW, Effects.NONE)
    assert (await contents(conversation), outcome.messages, outcome.result) == ([], (), None)
    assert [write.committed for write in outcome.certificate.writes] == [False]


async def test_script_sees_its_call(sandbox: WasmSandbox) -> None:
    outcome = await run(
        sandbox,
        "return { input, ambient, toolOptions, own: flowContext.sessionId };",
        call_input={"city": "Sofia"},
        ambient={"userId": "u1"},
        context_text="{}",
        fields={"action": "use", "tool": "forged", "urgency": "high"},
    )
    own = outcome.result.pop("own")
    assert own not in ("", CALLER.session_id)
    assert outcome.result == {
        "input": {"city": "Sofia"},
        "ambient": {"userId": "u1"},
        "toolOptions": {
            "toolContext": {
                "agentId": "main",
                "options": {"action": "use", "tool": "tool.js", "urgency": "high", "context": "{}"},
            },
            "agentNode": {"flowContext": {"sessionId": "caller-session"}},
        },
    }


async def test_each_run_has_its_own_session(sandbox: WasmSandbox) -> None:
    seen = {(await run(sandbox, "return flowContext.sessionId;")).result for _ in range(3)}
    assert len(seen) == 3


async def test_overlapping_op_stands_behind_the_first(sandbox: WasmSandbox) -> None:
    with FaultServer(lambda peer: peer.answer(body=b"{}")) as server:
        body = f"await Promise.all([Http.get('{server.url('/a')}'), Http.get('{server.url('/b')}')]);"
        outcome = await run(sandbox, body)

    assert [request.target for request in server.requests] == ["/a"]
    assert [(op.url[-2:], op.fate, op.code) for op in outcome.certificate.ops] == [
        ("/a", Fate.ANSWERED, None),
        ("/b", Fate.REFUSED, "buffer-busy"),
    ]


async def test_reads_and_requests_are_listed_in_order(sandbox: WasmSandbox) -> None:
    with FaultServer(lambda peer: peer.answer(body=b"{}")) as server:
        outcome = await run(
            sandbox,
            f"""const where = {{ sessionID: toolOptions.agentNode.flowContext.sessionId }};
            push('mine');
            const before = await Agent.getMessages('main', where);
            await Http.get('{server.url()}');
            await Agent.getLastReply('main', where);
            return before.map((message) => [message.content, message.staged]);""",
        )
    assert outcome.result == [["mine", True]]
    assert [(op.kind, op.method) for op in outcome.certificate.ops] == [
        ("agent", "READ"),
        ("http", "GET"),
        ("agent", "READ"),
    ]


async def test_refused_ops_without_end_are_counted(sandbox: WasmSandbox) -> None:
    body = "for (let i = 0; i < 150; i++) try { await Http.get('http://127.0.0.1:1/'); } catch {} return 1;"
    outcome = await run(sandbox, body, limits=Limits(requests_count=0))

    ops = outcome.certificate.ops
    assert len(ops) == 100
    assert {(op.fate, op.code) for op in ops} == {(Fate.REFUSED, "too-many-requests")}
    assert ops[-1].detail == "50 more ops were refused in the sandbox and are not listed"


async def test_read_tool_cannot_post(sandbox: WasmSandbox) -> None:
    with FaultServer(lambda peer: peer.answer()) as server:
        body = f"try {{ await Http.post('{server.url()}'); }} catch (error) {{ return error.code; }}"
        outcome = await run(sandbox, body, methods=MethodRule(methods=["GET"]))
    assert (outcome.result, server.connections_count) == ("denied", 0)
    assert [op.fate for op in outcome.certificate.ops] == [Fate.REFUSED]


async def test_session_data_reaches_the_next_run(sandbox: WasmSandbox) -> None:
    conversation = MemoryConversation()
    body = "session.count = (session.count ?? 0) + 1; return session.count;"
    other = Caller(agent_id="main", session_id="another")

    counts = [(await run(sandbox, body, conversation=conversation)).result for _ in range(3)]
    elsewhere = await run(sandbox, body, conversation=conversation, caller=other)
    assert (counts, elsewhere.result) == ([1, 2, 3], 1)


async def test_session_data_of_a_failed_run_is_dropped(sandbox: WasmSandbox) -> None:
    conversation = MemoryConversation()
    await run(sandbox, "session.left = 1; throw new Error('no');", conversation=conversation)
    assert (await run(sandbox, "return session;", conversation=conversation)).result == {}


async def test_session_that_is_only_read_is_not_written(sandbox: WasmSandbox) -> None:
    conversation = MemoryConversation()
    await run(sandbox, "session.b = { x: 1 }; session['2'] = true;", conversation=conversation)
    before = await conversation.load_session(CALLER.session_id)
    await run(sandbox, "return session.b;", conversation=conversation)
    assert (await conversation.load_session(CALLER.session_id)).version == before.version


async def test_later_of_two_session_changes_loses(sandbox: WasmSandbox) -> None:
    """The second run begins and ends while the first waits for an answer."""
    conversation, gate = MemoryConversation(), Gate()
    ended: list[RunOutcome] = []

    async def first() -> None:
        body = f"session.by = 'first'; push('lost'); await Http.get('{server.url()}');"
        ended.append(await run(sandbox, body, conversation=conversation))

    with FaultServer(gate) as server:
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await gate.arrived()
            ended.append(await run(sandbox, "session.by = 'second';", conversation=conversation))
            gate.open()

    assert [outcome.code for outcome in ended] == [None, FailureCode.SESSION_CONFLICT]
    assert ended[1].certificate.effects is Effects.NONE
    assert (await conversation.load_session(CALLER.session_id)).data == {"by": "second"}
    assert await contents(conversation) == []


async def test_events_are_observed_in_order(sandbox: WasmSandbox) -> None:
    seen: list[Event] = []
    body = "ctx.progress({ done: 1 }); push('x', 'r1');"
    outcome = await run(
        sandbox, f"const Log = (await import('system/log')).default; Log.info('a'); {body}", observe=seen.append
    )

    assert [type(event) for event in seen] == [LogLine, Progress, Write]
    assert outcome.logs == (LogLine(level="info", text="a"),)
    assert outcome.certificate.logs_count == {"info": 1}


async def test_outcome_is_handed_over_once(sandbox: WasmSandbox) -> None:
    handed: list[RunOutcome] = []
    outcome = await run(sandbox, "return 1;", on_end=handed.append, run_id="run-1")
    assert handed == [outcome]
    assert outcome.certificate.run_id == "run-1"


async def test_dry_run_shows_and_writes_nothing(sandbox: WasmSandbox) -> None:
    conversation = MemoryConversation()
    outcome = await run(sandbox, "push('x'); session.a = 1;", conversation=conversation, dry_run=True)

    assert (outcome.code, outcome.certificate.effects) == (None, Effects.NONE)
    assert [message.content for message in outcome.messages] == ["x"]
    assert [write.committed for write in outcome.certificate.writes] == [False]
    assert (await contents(conversation), await conversation.load_session(CALLER.session_id)) == ([], ({}, 0))
