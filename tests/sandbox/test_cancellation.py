"""A cancelled run stops its guest first, lets the cancellation through, and leaves nothing."""

from __future__ import annotations

import threading

import anyio
import pytest
from tests.faults import live_isolates
from tests.hostile import source
from tests.wall import Answers, Guest, program

from keelbox_sandbox.contract import FailureCode, Limits, Op, Reply, RunResult

pytestmark = pytest.mark.anyio

ENDLESS = Limits(cpu_s=600, wall_s=600)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def check_nothing_is_left(guest: Guest) -> None:
    assert live_isolates() == []
    assert await guest.value("return 'next';") == "next"


@pytest.mark.parametrize(
    "name", ["spin_forever", "spin_in_awaits", "index_of_in_a_huge_array_like", "spin_and_catch", "spin_in_to_json"]
)
async def test_running_guest_is_stopped(guest: Guest, name: str) -> None:
    with anyio.move_on_after(0.05) as scope:
        await guest.run(program(name), limits=ENDLESS)
        pytest.fail("the run ended by itself")
    assert scope.cancelled_caught
    await check_nothing_is_left(guest)


async def test_compilation_is_stopped(guest: Guest) -> None:
    with anyio.move_on_after(0.05) as scope:
        await guest.run(source("compile_many_private_names"), limits=ENDLESS)
        pytest.fail("the run ended by itself")
    assert scope.cancelled_caught
    await check_nothing_is_left(guest)


async def test_gathering_is_stopped(guest: Guest) -> None:
    with anyio.move_on_after(0.05) as scope:
        await guest.sandbox.gather("tool.js", lambda name: source("compile_many_private_names"), ENDLESS)
        pytest.fail("it ended by itself")
    assert scope.cancelled_caught
    await check_nothing_is_left(guest)


async def test_op_in_flight_is_cancelled(guest: Guest) -> None:
    begun = anyio.Event()
    ended: list[str] = []

    async def perform(op: Op) -> Reply:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("op")
        raise AssertionError

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: guest.exec("await Http.get('http://a.test/');", perform=perform, limits=ENDLESS))
        await begun.wait()
        assert len(live_isolates()) == 1
        tasks.cancel_scope.cancel()
    assert ended == ["op"]
    await check_nothing_is_left(guest)


async def test_run_that_was_cancelled_before_it_began(guest: Guest) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await guest.exec("await Http.get('http://a.test/');", perform=Answers())
        pytest.fail("the run ended by itself")
    await check_nothing_is_left(guest)


async def test_cancelling_one_run_leaves_its_neighbours(guest: Guest) -> None:
    results: list[RunResult] = []
    cancelled = anyio.CancelScope()

    async def spin() -> None:
        with cancelled:
            await guest.run(program("spin_forever"), limits=ENDLESS)

    async def neighbour() -> None:
        results.append(await guest.run(program("spin_forever"), limits=Limits(cpu_s=0.2, wall_s=30)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(spin)
        tasks.start_soon(neighbour)
        await anyio.lowlevel.checkpoint()
        cancelled.cancel()
    assert [result.code for result in results] == [FailureCode.CPU_EXCEEDED]
    await check_nothing_is_left(guest)


async def test_runs_that_wait_for_a_thread_are_cancelled_too(guest: Guest) -> None:
    """More than there are threads: those that never began must not begin afterwards."""
    with anyio.move_on_after(0.3) as scope:
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(lambda: guest.run(program("spin_forever"), limits=ENDLESS))
    assert scope.cancelled_caught
    await check_nothing_is_left(guest)


async def test_cancelled_waiter_for_a_compilation_leaves_it_to_the_others(guest: Guest) -> None:
    script = guest.script("export const exec = () => 'compiled';")
    cancelled = anyio.CancelScope()
    results: list[object] = []

    async def give_up() -> None:
        with cancelled:
            await guest.run(script)

    async def stay() -> None:
        results.append((await guest.run(script)).value)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stay)
        tasks.start_soon(give_up)
        tasks.start_soon(stay)
        cancelled.cancel()
    assert results == ["compiled"] * 2


async def test_closed_sandbox_leaves_no_thread(guest: Guest) -> None:
    await guest.run(program("spin_forever"), limits=Limits(cpu_s=0.05))
    await guest.sandbox.aclose()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("keelbox")] == []
