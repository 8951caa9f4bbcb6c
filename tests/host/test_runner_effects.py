"""What the certificate says that a run did to the world, on every path."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.host.runs import contents, run
from tests.servers.fault_server import FaultServer, Peer

from keelbox.conversation import Conversation, MemoryConversation, open_conversation
from keelbox.outcome import Effects, Fate
from keelbox_sandbox.contract import Event, FailureCode, Limits
from keelbox_sandbox.wasm import WasmSandbox

pytestmark = pytest.mark.anyio


def ok(peer: Peer) -> None:
    peer.answer(body=b"{}")


def silent(peer: Peer) -> None:
    peer.read_request()
    peer.wait_until_left()


@pytest.mark.parametrize(
    ("method", "then", "effects"),
    [
        ("post", "return 1;", Effects.COMMITTED),
        ("post", "throw new Error('no');", Effects.SENT),
        ("del", "throw new Error('no');", Effects.SENT),
        ("get", "throw new Error('no');", Effects.NONE),
        ("head", "throw new Error('no');", Effects.NONE),
    ],
)
async def test_answered_request(sandbox: WasmSandbox, method: str, then: str, effects: Effects) -> None:
    with FaultServer(ok) as server:
        outcome = await run(sandbox, f"push('x'); await Http.{method}('{server.url()}'); {then}")
    assert outcome.certificate.effects is effects
    assert [op.fate for op in outcome.certificate.ops] == [Fate.ANSWERED]


@pytest.mark.parametrize(("method", "effects"), [("post", Effects.UNKNOWN), ("get", Effects.NONE)])
async def test_request_in_flight_at_the_cut(sandbox: WasmSandbox, method: str, effects: Effects) -> None:
    with FaultServer(silent) as server:
        outcome = await run(sandbox, f"await Http.{method}('{server.url()}');", limits=Limits(wall_s=0.3))
    assert (outcome.code, outcome.certificate.effects) == (FailureCode.TIME_EXCEEDED, effects)
    assert [op.fate for op in outcome.certificate.ops] == [Fate.IN_FLIGHT]


async def test_caught_transport_fault_of_a_post_stays_unknown(sandbox: WasmSandbox) -> None:
    """That the script goes on and fails for another reason does not make the POST known."""
    with FaultServer(lambda peer: peer.reset() if peer.read_request() else None) as server:
        outcome = await run(sandbox, f"try {{ await Http.post('{server.url()}'); }} catch {{}} throw new Error('no');")
    assert (outcome.code, outcome.certificate.effects) == (FailureCode.THREW, Effects.UNKNOWN)


async def test_post_that_found_no_server_did_nothing(sandbox: WasmSandbox) -> None:
    with FaultServer(ok) as server:
        gone = server.url()
    outcome = await run(sandbox, f"await Http.post('{gone}');")
    assert (outcome.code, outcome.certificate.effects) == (FailureCode.THREW, Effects.NONE)
    assert [op.fate for op in outcome.certificate.ops] == [Fate.NOT_SENT]


async def test_dry_run_tells_of_a_post(sandbox: WasmSandbox) -> None:
    with FaultServer(ok) as server:
        outcome = await run(sandbox, f"push('x'); await Http.post('{server.url()}');", dry_run=True)
    assert (outcome.code, outcome.certificate.effects) == (None, Effects.SENT)


async def test_run_that_does_not_load_did_nothing(sandbox: WasmSandbox) -> None:
    outcome = await run(sandbox, "let = ;")
    assert (outcome.code, outcome.certificate.effects) == (FailureCode.LOAD_FAILED, Effects.NONE)


@pytest.fixture
async def broken(tmp_path: Path) -> Conversation:
    """A conversation whose file has lost its messages table since it was opened."""
    conversation = await open_conversation(tmp_path / "store.db")
    with sqlite3.connect(tmp_path / "store.db") as database:
        database.execute("DROP TABLE messages")
    database.close()
    return conversation


async def test_store_that_fails_at_the_commit(sandbox: WasmSandbox, broken: Conversation) -> None:
    with FaultServer(ok) as server:
        body = f"await Http.post('{server.url()}'); push('x');"
        outcome = await run(sandbox, body, conversation=broken)
    assert (outcome.code, outcome.certificate.effects) == (FailureCode.HOST_ERROR, Effects.SENT)
    assert outcome.message is not None
    assert "messages" in outcome.message
    assert (outcome.messages, [write.committed for write in outcome.certificate.writes]) == ((), [False])
    await broken.aclose()


async def test_store_that_fails_at_a_read(sandbox: WasmSandbox, broken: Conversation) -> None:
    body = "await Agent.getMessages('main', { sessionID: toolOptions.agentNode.flowContext.sessionId });"
    outcome = await run(sandbox, body, conversation=broken)
    assert (outcome.code, outcome.certificate.effects) == (FailureCode.HOST_ERROR, Effects.NONE)
    assert outcome.message is not None
    assert "messages" in outcome.message
    assert [op.code for op in outcome.certificate.ops] == ["host-error"]
    await broken.aclose()


async def test_fault_of_an_observer_is_the_host_s(sandbox: WasmSandbox, caplog: pytest.LogCaptureFixture) -> None:
    def observe(event: Event) -> None:
        raise ValueError(event)

    conversation = MemoryConversation()
    outcome = await run(sandbox, "push('x');", observe=observe, conversation=conversation)
    assert (outcome.code, outcome.certificate.effects) == (FailureCode.HOST_ERROR, Effects.NONE)
    assert outcome.message == "Keelbox itself failed: ValueError"
    assert caplog.records[0].exc_info is not None
    assert await contents(conversation) == []
