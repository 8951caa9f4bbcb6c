"""Nothing of one run is visible in another; seeds, clocks and random state are each run's own (SECURITY R20, R23)."""

from __future__ import annotations

import time

import anyio
import pytest
from tests.wall import Answers, Guest, reply

from keelbox_sandbox.contract import Call, Limits, Op, Reply

pytestmark = pytest.mark.anyio

RANDOM = "return Array.from({ length: 8 }, Math.random);"


async def test_random_sequences_differ(guest: Guest) -> None:
    runs = [await guest.value(RANDOM) for _ in range(20)]
    assert len({number for run in runs for number in run}) == 20 * 8


async def test_random_numbers_are_spread(guest: Guest) -> None:
    """10,000 in ten bins of 1,000 each: none is off by more than 200 (six standard deviations)."""
    body = "const bins = new Array(10).fill(0); for (let i = 0; i < 10000; i++) bins[Math.floor(Math.random() * 10)]++; return bins;"
    bins = await guest.value(body)
    assert len(bins) == 10
    assert all(abs(count - 1000) < 200 for count in bins)


async def test_first_uuid_differs(guest: Guest) -> None:
    assert len({await guest.value("return Tools.generateUUID();") for _ in range(20)}) == 20


async def test_dates_are_true(guest: Guest) -> None:
    before = time.time()
    now_ms, parts = await guest.value(
        "const d = new Date(); return [Date.now(), [d.getFullYear(), d.getTimezoneOffset()]];"
    )
    assert before - 1 <= now_ms / 1000 <= time.time() + 1
    assert parts == [time.gmtime(now_ms / 1000).tm_year, 0]


async def test_clock_runs_within_a_run(guest: Guest) -> None:
    assert await guest.value("const from = Date.now(); while (Date.now() < from + 5); return Date.now() - from;") >= 5


LEAVE = """
  globalThis.left = 1; Object.prototype.left = 2; Array.prototype.push = null; Math.left = 3; Symbol.for('left');
  Object.defineProperty(String.prototype, 'left', { value: 4 }); RegExp.prototype.exec.left = 5; Promise.left = 6;
  toolOptions.left = 7; dictionary.left = 8; session.left = 9; Error.stackTraceLimit = 0; delete globalThis.Map;
  /(left)/.exec('left'); Http.HttpError.left ??= 0;
"""
LOOK = """
  return [
    'left' in globalThis, ({}).left, typeof [].push, Math.left, ''.left, RegExp.prototype.exec.left, Promise.left,
    toolOptions.left, dictionary.left, session.left, Error.stackTraceLimit > 0, typeof Map, RegExp.$1 ?? '',
  ];
"""


async def test_nothing_stays_of_what_a_script_leaves(guest: Guest) -> None:
    clean = await guest.value(LOOK)
    assert clean[:2] == [False, None]
    await guest.exec(LEAVE)
    await guest.exec(f"{LEAVE} for (;;) left;", limits=Limits(cpu_s=0.05))
    assert await guest.value(LOOK) == clean


async def test_module_state_is_new_in_each_run(guest: Guest) -> None:
    script = guest.script(
        "import { next } from './lib.js'; let own = 0; export const exec = () => [next(), ++own];",
        {"lib.js": "let count = 0; export const next = () => ++count;"},
    )
    for _ in range(3):
        assert (await guest.run(script)).value == [1, 1]


async def test_memory_of_an_earlier_run_is_not_readable(guest: Guest) -> None:
    """No allocation that a script can make comes with old content: neither of a run nor of the exchange buffer."""
    await guest.exec(
        "const kept = []; for (let i = 0; i < 200; i++) kept.push('CANARY-'.repeat(1000) + i); return kept.length;"
    )
    answers = Answers(reply(b"CANARY-" * 100_000))
    await guest.exec("await Http.get('http://a.test/');", perform=answers)
    body = """
      const found = [];
      for (const size of [16, 1000, 65536, 2 ** 20, 8 * 2 ** 20]) {
        const bytes = new Uint8Array(size);
        if (bytes.some((byte) => byte !== 0)) found.push(size);
      }
      return found;
    """
    assert await guest.value(body) == []


async def test_two_runs_at_once_do_not_see_each_other(guest: Guest) -> None:
    seen: list[object] = []

    async def one(name: str) -> None:
        async def perform(op: Op) -> Reply:
            await anyio.lowlevel.checkpoint()
            return reply(name.encode())

        body = """
          globalThis.name = session.name = input;
          const { body } = await Http.get('http://a.test/');
          return [name, session.name, body];
        """
        seen.append(await guest.value(body, call=Call(input=name), perform=perform))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, f"run {number}")
    assert sorted(map(str, seen)) == sorted(str([f"run {n}"] * 3) for n in range(20))


async def test_seed_of_the_build_is_not_the_runs(guest: Guest) -> None:
    """What the engine seeded when the snapshot was made is not asked any more, by any way to it."""
    body = "return [Math.random(), (0, eval)('Math.random()'), new Function('return Math.random()')()];"
    assert len({tuple(await guest.value(body)) for _ in range(5)}) == 5
