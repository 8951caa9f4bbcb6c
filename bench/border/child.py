"""One contender in a process of its own: ``python -m bench.border.child NAME``.

A process each keeps one contender's threads, heap and crashes away from the others. It answers each line (an
order) with a line, so that the parent can let the contenders take turns: what else happens then hits all of them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from typing import Any

import anyio

from . import memory
from .contenders import CONTENDERS, Run
from .work import Gate

__all__: list[str] = []

WARM_RUNS_COUNT = 10
SAMPLES_MIN_COUNT = 3
"""A block gives so many samples even if they take longer than its time."""


async def latency(run: Run, seconds_s: float) -> list[float]:
    """Run one after the other for so long; the milliseconds of each."""
    samples_ms: list[float] = []
    end_s = time.perf_counter() + seconds_s
    while len(samples_ms) < SAMPLES_MIN_COUNT or time.perf_counter() < end_s:
        began_ns = time.perf_counter_ns()
        await run()
        samples_ms.append((time.perf_counter_ns() - began_ns) / 1e6)
    return samples_ms


async def throughput(run: Run, tasks_count: int, seconds_s: float) -> float:
    """Let so many tasks run one after the other each; the runs of all in a second."""
    runs_count = 0

    async def work() -> None:
        nonlocal runs_count
        while time.perf_counter() < end_s:
            await run()
            runs_count += 1

    began_s = time.perf_counter()
    end_s = began_s + seconds_s
    async with anyio.create_task_group() as group:
        for _ in range(tasks_count):
            group.start_soon(work)
    return runs_count / (time.perf_counter() - began_s)


async def suspended(run: Run, gate: Gate, runs_count: int) -> dict[str, dict[str, int]]:
    """Let so many runs wait for their host call at once; the memory before, then and after."""
    found = {"before": memory.now()}
    gate.shut(runs_count)
    async with anyio.create_task_group() as group:
        for _ in range(runs_count):
            group.start_soon(run)
        await gate.all_wait()
        found["waiting"] = memory.now()
        gate.open()
    return {**found, "after": memory.now()}


async def serve(name: str) -> None:
    gate = Gate()
    async with CONTENDERS[name].open(gate) as run:
        for _ in range(WARM_RUNS_COUNT):
            await run()
        _say("ready")
        # Reading blocks the event loop, which has nothing else to do between two orders.
        for line in sys.stdin:
            order: dict[str, Any] = json.loads(line)
            match order.pop("measure"):
                case "latency":
                    _say(await latency(run, **order))
                case "throughput":
                    _say(await throughput(run, **order))
                case "suspended":
                    _say(await suspended(run, gate, **order))
                case other:
                    raise ValueError(f"no measure {other!r}")


def _say(value: object) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1])
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    # modebox 0.2.0 crashes when the interpreter takes itself down; everything has been closed and said by now.
    os._exit(0)
