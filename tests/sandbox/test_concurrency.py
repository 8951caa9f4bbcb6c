"""Many runs in one process: waiting ones cost nothing to the others, and spinning ones stop nobody."""

from __future__ import annotations

import threading

import anyio
import pytest
from tests.faults import live_isolates
from tests.hostile import source
from tests.wall import Answers, Guest, json_reply, program, reply

from keelbox_sandbox.contract import Call, FailureCode, Limits, Op, Reply, RunResult
from keelbox_sandbox.wasm import WasmSandbox

pytestmark = pytest.mark.anyio

ASK = "const { body } = await Http.getJson('http://a.test/'); return [input, body];"
MANY = Limits(cpu_s=20, wall_s=50)


class Gate:
    """Answers no op before it is opened; ``waiting`` is set when ``count`` ops wait."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._opened = anyio.Event()
        self.waiting = anyio.Event()

    def open(self) -> None:
        self._opened.set()

    async def __call__(self, op: Op) -> Reply:
        self._count -= 1
        if self._count == 0:
            self.waiting.set()
        await self._opened.wait()
        return json_reply("answer")


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_suspended_runs_finish_while_another_spins(guest: Guest) -> None:
    gate = Gate(300)
    values: list[object] = []
    spun: list[RunResult] = []

    async def ask(number: int) -> None:
        values.append(await guest.value(ASK, call=Call(input=number), perform=gate, limits=MANY))

    async def spin() -> None:
        spun.append(await guest.run(program("spin_forever"), limits=Limits(cpu_s=600, wall_s=600)))

    async with anyio.create_task_group() as spinning:
        spinning.start_soon(spin)
        async with anyio.create_task_group() as asking:
            for number in range(300):
                asking.start_soon(ask, number)
            await gate.waiting.wait()
            assert threading.active_count() < 50
            gate.open()
        assert len(values) == 300
        assert spun == []
        spinning.cancel_scope.cancel()
    assert sorted(values) == [[number, "answer"] for number in range(300)]  # type: ignore[type-var]
    assert live_isolates() == []


async def test_five_hundred_runs_at_once(guest: Guest) -> None:
    gate = Gate(500)
    values: dict[int, object] = {}

    async def ask(number: int) -> None:
        values[number] = await guest.value(ASK, call=Call(input=number), perform=gate, limits=MANY)

    async with anyio.create_task_group() as tasks:
        for number in range(500):
            tasks.start_soon(ask, number)
        await gate.waiting.wait()
        assert len(live_isolates()) == 500
        gate.open()
    assert values == {number: [number, "answer"] for number in range(500)}
    assert live_isolates() == []


async def test_more_spinning_runs_than_threads_all_end(guest: Guest) -> None:
    """R22: those that find no thread wait for one; an honest run among them is right."""
    codes: list[FailureCode | None] = []

    async def spin(name: str) -> None:
        codes.append((await guest.run(program(name), limits=Limits(cpu_s=0.02, wall_s=50))).code)

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            for name in ("spin_forever", "spin_in_awaits", "sort_again_and_again"):
                tasks.start_soon(spin, name)
        assert await guest.value(ASK, call=Call(input=1), perform=Answers(json_reply(2)), limits=MANY) == [1, 2]
    assert codes == [FailureCode.CPU_EXCEEDED] * 60


async def test_processor_time_is_the_runs_own(guest: Guest) -> None:
    """A run that is kept waiting by others is not charged for them."""
    results: list[RunResult] = []

    async def work() -> None:
        body = "let n = 0; for (let i = 0; i < 300000; i++) n += i; return n;"
        results.append(await guest.exec(body, limits=Limits(cpu_s=1, wall_s=50)))

    async with anyio.create_task_group() as tasks:
        for _ in range(60):
            tasks.start_soon(work)
    assert [result.code for result in results] == [None] * 60
    assert max(result.usage.cpu_s for result in results) < 0.5


async def test_same_new_script_started_twice_at_once(guest: Guest) -> None:
    source = "import { v } from './lib.js'; export const exec = () => v;"
    script = guest.script(source, {"lib.js": "export const v = 'both';"})
    values: list[object] = []

    async def run() -> None:
        values.append((await guest.run(script)).value)

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(run)
    assert values == ["both"] * 10


async def test_same_broken_script_started_twice_at_once(guest: Guest) -> None:
    codes: list[FailureCode | None] = []

    async def run() -> None:
        codes.append((await guest.run("export const exec = (;")).code)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(run)
    assert codes == [FailureCode.LOAD_FAILED] * 5


async def test_compilation_of_one_script_does_not_hold_up_another(guest: Guest) -> None:
    done: list[str] = []

    async def slow() -> None:
        await guest.run(source("compile_many_private_names"), limits=Limits(cpu_s=1, wall_s=50))
        done.append("slow")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(slow)
        await anyio.lowlevel.checkpoint()
        for number in range(20):
            assert await guest.value(f"return {number};") == number
        done.append("quick")
    assert done == ["quick", "slow"]


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_ops_are_performed_on_the_callers_event_loop(guest: Guest) -> None:
    """One at a time for each run, in the caller's own task."""
    here = threading.get_ident()
    task = anyio.get_current_task().id
    seen: list[tuple[int, int]] = []

    async def perform(op: Op) -> Reply:
        seen.append((threading.get_ident(), anyio.get_current_task().id))
        return reply()

    await guest.exec("for (let i = 0; i < 5; i++) await Http.get('http://a.test/');", perform=perform)
    assert seen == [(here, task)] * 5


async def test_closing_one_sandbox_leaves_the_walls_of_another(guest: Guest) -> None:
    """The clock that stops runs is the process's; it goes on as long as anybody needs it."""
    codes: list[FailureCode | None] = []

    async def spin() -> None:
        codes.append((await guest.run(program("spin_forever"), limits=Limits(cpu_s=0.5, wall_s=20))).code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(spin)
        await anyio.lowlevel.checkpoint()
        for _ in range(3):
            async with WasmSandbox() as other:
                assert await Guest(sandbox=other, language="js").value("return 1;") == 1
    assert codes == [FailureCode.CPU_EXCEEDED]
