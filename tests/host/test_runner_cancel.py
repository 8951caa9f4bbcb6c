"""A run that is cancelled: it stops, says what it had done, and never leaves half a commit."""

from __future__ import annotations

# The bare cancellation of a task is asyncio's own; anyio has no word for it.
import asyncio  # noqa: TID251
from collections.abc import Sequence

import anyio
import pytest
from tests.host.runs import Gate, contents, run
from tests.servers.fault_server import FaultServer

from keelbox.conversation import MemoryConversation, SessionChange
from keelbox.outcome import Effects, Fate, Message, RunOutcome
from keelbox_sandbox.contract import Event, FailureCode, LogLine, Write
from keelbox_sandbox.wasm import WasmSandbox

pytestmark = pytest.mark.anyio


class SlowConversation(MemoryConversation):
    """Stands still in its first commit, before it is done or after, until it is let go."""

    def __init__(self, *, done_first: bool) -> None:
        super().__init__()
        self.done_first = done_first
        self.begun = anyio.Event()
        self.go_on = anyio.Event()

    async def commit(
        self, run_id: str, writes: Sequence[Write], *, session: SessionChange | None = None
    ) -> tuple[Message, ...]:
        first = not self.begun.is_set()
        if first and self.done_first:
            await super().commit(run_id, writes, session=session)
        if first:
            self.begun.set()
            await self.go_on.wait()
        return await super().commit(run_id, writes, session=session)


async def test_cancelled_in_the_guest(sandbox: WasmSandbox) -> None:
    ended: list[RunOutcome] = []
    async with anyio.create_task_group() as group:

        def observe(event: Event) -> None:
            if isinstance(event, LogLine):
                group.cancel_scope.cancel()

        body = "push('half'); (await import('system/log')).default.info('up'); await Http.get('http://127.0.0.1:1/');"
        await run(sandbox, body, observe=observe, on_end=ended.append)

    (outcome,) = ended
    assert (outcome.code, outcome.certificate.effects) == (FailureCode.CANCELLED, Effects.NONE)
    assert [line.text for line in outcome.logs] == ["up"]
    assert [write.bytes_count for write in outcome.certificate.writes] == [4]


async def test_cancelled_with_a_post_in_flight(sandbox: WasmSandbox) -> None:
    ended: list[RunOutcome] = []
    gate = Gate()
    with FaultServer(gate) as server:
        async with anyio.create_task_group() as group:

            async def start() -> None:
                request = f"{{ method: 'POST', url: '{server.url()}', body: 'abc' }}"
                await run(sandbox, f"await Http.request({request});", on_end=ended.append)

            group.start_soon(start)
            await gate.arrived()
            group.cancel_scope.cancel()
        gate.open()

    (outcome,) = ended
    assert (outcome.code, outcome.certificate.effects) == (FailureCode.CANCELLED, Effects.UNKNOWN)
    assert [op.fate for op in outcome.certificate.ops] == [Fate.IN_FLIGHT]
    assert (outcome.certificate.usage.requests_count, outcome.certificate.usage.bytes_out) == (1, 3)


async def test_spinning_guest_is_stopped(sandbox: WasmSandbox) -> None:
    ended: list[RunOutcome] = []
    with anyio.move_on_after(0.2) as scope:
        await run(sandbox, "for (;;) {}", on_end=ended.append)
    assert scope.cancelled_caught
    assert [outcome.code for outcome in ended] == [FailureCode.CANCELLED]


async def test_cancelled_in_the_commit_finishes_it(sandbox: WasmSandbox) -> None:
    conversation = SlowConversation(done_first=False)
    ended: list[RunOutcome] = []

    async def start() -> None:
        await run(sandbox, "push('whole');", conversation=conversation, on_end=ended.append)

    async with anyio.create_task_group() as group:
        group.start_soon(start)
        await conversation.begun.wait()
        group.cancel_scope.cancel()
        conversation.go_on.set()

    assert [(outcome.code, outcome.certificate.effects) for outcome in ended] == [(None, Effects.COMMITTED)]
    assert await contents(conversation) == ["whole"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("done_first", [False, True])
async def test_bare_cancellation_in_the_commit_leaves_it_whole(sandbox: WasmSandbox, done_first: bool) -> None:
    """It breaks through the shield; the run asks again, says how the commit ended, and yields."""
    conversation = SlowConversation(done_first=done_first)
    ended: list[RunOutcome] = []
    task = asyncio.ensure_future(run(sandbox, "push('whole');", conversation=conversation, on_end=ended.append))
    await conversation.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [outcome.certificate.effects for outcome in ended] == [Effects.COMMITTED]
    assert await contents(conversation) == ["whole"]
