"""Nothing is left after many runs: no thread, no file, no instance, and no memory (issue: 10,000 runs)."""

from __future__ import annotations

import gc
import threading
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from tests.faults import live_isolates
from tests.probe import resident_bytes
from tests.wall import MIB, Answers, Guest, json_reply, program

from keelbox_sandbox.contract import Limits, Op, OpError, Reply
from keelbox_sandbox.wasm import WasmSandbox

pytestmark = pytest.mark.anyio

ROUND = {
    "clean": "const kept = new Uint8Array(100000); return (await Http.getJson('http://a.test/')).body;",
    "thrown": "await Http.get('http://a.test/'); throw new Error('x'.repeat(1000));",
    "memory": "const kept = []; for (;;) kept.push(new Uint8Array(100000));",
    "stack": "const f = () => f() + 1; f();",
    "value": "return () => 1;",
    "writes": "Log.info('x'.repeat(1000)); Agent.setRootAgentPrompt('a', { prompt: 'p', sessionID: 's', requestID: 'r' });",
    "detached": "Http.get('http://a.test/');",
    "deadlock": "await new Promise(() => {});",
}
LIMITS = Limits(heap_mib=2, cpu_s=10, wall_s=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What this process holds."""

    threads_count: int
    files_count: int
    maps_count: int
    resident_bytes: int


def held() -> Held:
    gc.collect()
    return Held(
        threads_count=threading.active_count(),
        files_count=len(list(Path("/proc/self/fd").iterdir())),
        maps_count=len(Path("/proc/self/maps").read_text("utf-8").splitlines()),
        resident_bytes=resident_bytes(),
    )


async def some_runs(guest: Guest, count: int) -> None:
    """Runs of every kind in turn; each eighth one is cancelled while its op is in flight, or while it spins."""
    names = list(ROUND)
    for number in range(count):
        if number % 8 == 3:
            await cancelled_run(guest)
        answers = Answers(OpError("timeout", "slow") if number % 5 == 0 else json_reply({"a": 1}))
        await guest.exec(ROUND[names[number % len(names)]], limits=LIMITS, perform=answers)


async def cancelled_run(guest: Guest) -> None:
    with anyio.CancelScope() as scope:

        async def perform(op: Op) -> Reply:
            scope.cancel()
            await anyio.lowlevel.checkpoint()
            raise AssertionError

        await guest.exec("await Http.get('http://a.test/');", limits=LIMITS, perform=perform)


async def check_nothing_adds_up(guest: Guest, first_count: int, count: int) -> None:
    await guest.run(program("spin_forever"), limits=Limits(cpu_s=0.05))
    await some_runs(guest, first_count)
    before = held()
    await some_runs(guest, count)
    after = held()
    assert live_isolates() == []
    assert after.threads_count <= before.threads_count + 1
    assert after.files_count == before.files_count
    assert after.maps_count <= before.maps_count + 20
    assert after.resident_bytes <= before.resident_bytes + 4 * MIB


async def test_hundreds_of_runs_leave_nothing(guest: Guest) -> None:
    await check_nothing_adds_up(guest, 200, 400)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_ten_thousand_runs_leave_nothing(guest: Guest) -> None:
    await check_nothing_adds_up(guest, 500, 10_000)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_thousands_of_scripts_leave_a_bounded_cache(guest: Guest) -> None:
    """Each is new, so each is compiled and kept; the oldest leave."""
    filler = "x" * 40_000
    for number in range(200):
        await guest.value(f"return {number}; const s = '{filler}';")
    before = held()
    for number in range(200, 3000):
        await guest.value(f"return {number}; const s = '{filler}';")
    assert held().resident_bytes <= before.resident_bytes + 80 * MIB


async def test_closed_sandboxes_leave_nothing(guest: Guest) -> None:
    async def one() -> None:
        async with WasmSandbox() as sandbox:
            opened = Guest(sandbox=sandbox, language="js")
            await opened.run(program("spin_forever"), limits=Limits(cpu_s=0.01))

    await one()
    before = held()
    for _ in range(10):
        await one()
    after = held()
    assert (after.threads_count, after.files_count) == (before.threads_count, before.files_count)
