"""Faults anywhere in a guest's memory end as outcomes of that run, in time, and leave the host sound (SECURITY B27)."""

from __future__ import annotations

import random

import anyio
import pytest
from tests.faults import FIELDS, flip_bits, live_isolates, memory_bytes, set_field, spoil_calls, spoil_state
from tests.wall import Guest, json_reply, program

from keelbox_sandbox.contract import FailureCode, Limits, Op, Reply, RunResult
from keelbox_sandbox.wasm.isolate import Isolate

pytestmark = pytest.mark.anyio

LIMITS = Limits(cpu_s=0.3, wall_s=5, heap_mib=8, buffer_mib=1)
ANSWER = {"a": [1, 2.5, "é", None], "b": "x" * 1000}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def answer(op: Op) -> Reply:
    return json_reply(ANSWER)


async def honest(guest: Guest) -> RunResult:
    return await guest.run(program("use_many_built_ins"), limits=Limits(cpu_s=20), perform=answer)


def check(result: RunResult) -> None:
    assert result.code is None or isinstance(result.code, FailureCode)
    assert (result.code is None) == (result.dictionary is not None)
    assert result.usage.cpu_s < LIMITS.cpu_s + 0.5
    assert live_isolates() == []


async def run_with_flips(guest: Guest, seed: int) -> RunResult:
    """Faults while the run is suspended; at a part of the seeds also after every return into the host."""
    generator = random.Random(seed)
    count = generator.choice((1, 4, 32, 256, 4096))

    async def perform(op: Op) -> Reply:
        (suspended,) = live_isolates()
        flip_bits(suspended, generator, count)
        return json_reply(ANSWER)

    def spoil(isolate: Isolate, number: int) -> None:
        if seed % 4 == 0 and isolate in live_isolates():
            flip_bits(isolate, generator, count)

    with spoil_state(spoil):
        return await guest.run(program("use_many_built_ins"), limits=LIMITS, perform=perform)


async def run_with_flips_before_calls(guest: Guest, seed: int) -> RunResult:
    """Faults before a call: also while a module is compiled, and in the image that a fresh instance starts from."""
    generator = random.Random(seed)
    count = generator.choice((1, 16, 256, 2048))

    def spoil(isolate: Isolate) -> None:
        flip_bits(isolate, generator, count)

    source = f"// {seed}\n{program('use_many_built_ins')}"  # compiled anew for each seed
    with spoil_calls(spoil):
        return await guest.run(source, limits=LIMITS, perform=answer)


async def flips(guest: Guest, seeds: range) -> set[FailureCode | None]:
    expected = await honest(guest)
    assert expected.code is None, expected.message
    codes: set[FailureCode | None] = set()
    for seed in seeds:
        run = run_with_flips_before_calls if seed % 3 == 1 else run_with_flips
        result = await run(guest, seed)
        check(result)
        codes.add(result.code)
        if seed % 50 == 0:
            assert (await honest(guest)).value == expected.value
    assert (await honest(guest)).value == expected.value
    return codes


async def test_flipped_bits_are_outcomes(guest: Guest) -> None:
    codes = await flips(guest, range(160))
    assert FailureCode.SANDBOX_CRASHED in codes  # else nothing was hit


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_flipped_bits_are_outcomes_thousands_of_times(guest: Guest) -> None:
    codes = await flips(guest, range(1000, 6000))
    assert {FailureCode.SANDBOX_CRASHED, FailureCode.THREW} <= codes


HOSTILE = (0, 1, 3, 4, 0x7FFF, 0xFFFF, 0x10000, 2**24, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 4, 2**32 - 1)
"""Among them: signed borders, the page, and what wraps around when something is added."""


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_hostile_field_of_the_state_is_an_outcome(guest: Guest, field: str, number: int) -> None:
    """B1, B4, B8: every value that the host loads, with every awkward number, after each call into the guest."""
    await honest(guest)
    for value in HOSTILE:

        def spoil(isolate: Isolate, reading: int, value: int = value) -> None:
            if reading == number:
                set_field(isolate, field, value)

        with spoil_state(spoil):
            check(await guest.run(program("use_many_built_ins"), limits=LIMITS, perform=answer))
    assert (await honest(guest)).code is None


@pytest.mark.parametrize("field", ["op_head_bytes", "op_body_bytes", "part1_bytes", "outbox_address"])
@pytest.mark.parametrize("beyond", [-16, -1, 0, 1])
async def test_hostile_field_at_the_end_of_memory_is_an_outcome(guest: Guest, field: str, beyond: int) -> None:
    def spoil(isolate: Isolate, reading: int) -> None:
        base = 0 if field == "outbox_address" else isolate.buffer_address
        set_field(isolate, field, memory_bytes(isolate) - base + beyond)

    with spoil_state(spoil):
        check(await guest.run(program("use_many_built_ins"), limits=LIMITS, perform=answer))


async def test_fault_in_one_run_leaves_its_neighbours_right(guest: Guest) -> None:
    expected = (await honest(guest)).value
    results: list[object] = []

    async def neighbour() -> None:
        results.append((await honest(guest)).value)

    async def faulty(seed: int) -> None:
        generator = random.Random(seed)

        async def perform(op: Op) -> Reply:
            ours = live_isolates()[-1]
            if ours.room_bytes < 2 * 1024 * 1024:  # a run with these limits, not a neighbour
                flip_bits(ours, generator, 4096)
            return json_reply(ANSWER)

        await guest.run(program("use_many_built_ins"), limits=LIMITS, perform=perform)

    async with anyio.create_task_group() as tasks:
        for seed in range(30):
            tasks.start_soon(faulty, seed)
            tasks.start_soon(neighbour)
    assert results == [expected] * 30
