"""The same run below the event loop, in this one thread: ``python -m bench.border.isolate_level SECONDS``.

The difference to a run through the contract is what the event loop, the copies and the checks of a run cost. The
hand-over to a guest thread and back is what a call that takes long pays once.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
import time

import anyio

from keelbox_sandbox.contract import KIB, MIB, Call, Limits
from keelbox_sandbox.wasm.abi import Phase
from keelbox_sandbox.wasm.engine import get_engine
from keelbox_sandbox.wasm.header import start_header
from keelbox_sandbox.wasm.isolate import Isolate
from keelbox_sandbox.wasm.program import compile_module
from keelbox_sandbox.wasm.run import encode_call
from keelbox_sandbox.wasm.threads import GuestThreads

from .work import BODY, ONE_OP_SCRIPT, URL, check

__all__: list[str] = []

PHASES = ("instantiate", "start", "resume", "drop")
WARM_RUNS_COUNT = 10
THREADS_COUNT = 2


class Level:
    """Runs the work in fresh isolates, as `keelbox_sandbox.wasm.run` does."""

    def __init__(self) -> None:
        limits = Limits()
        entry = ONE_OP_SCRIPT.entry
        self._engine = get_engine()
        self._limits = limits
        self._header = start_header(limits)
        self._call = encode_call(Call())
        self._outbox_bytes = int(limits.staged_mib * MIB + limits.log_kib * KIB) + MIB
        module, _ = compile_module(
            self._engine, entry, ONE_OP_SCRIPT.modules[entry], limits, limits.cpu_s, time.monotonic() + limits.wall_s,
            lambda isolate: None,
        )  # fmt: skip
        bytecode: bytes = getattr(module, "bytecode")  # noqa: B009 - a failure to compile has none, and ends this here
        self._program = len(bytecode).to_bytes(4, "little") + bytecode

    def run(self) -> tuple[int, int, int, int]:
        """One run; the nanoseconds of each phase."""
        limits = self._limits
        began_ns = time.perf_counter_ns()
        isolate = Isolate(
            self._engine, heap_bytes=limits.heap_bytes, buffer_bytes=limits.buffer_bytes,
            outbox_bytes=self._outbox_bytes, room_bytes=0, cpu_s=limits.cpu_s,
            wall_deadline_s=time.monotonic() + limits.wall_s,
        )  # fmt: skip
        try:
            made_ns = time.perf_counter_ns()
            header = self._header.pack(os.urandom(32), 1, len(self._call))
            isolate.write_buffer(header, self._program, self._call, b"\0")
            state = isolate.enter("start", isolate.buffer_address, isolate.room_bytes)
            request, _ = isolate.read_buffer(state.op_head_bytes, state.op_body_bytes)
            if state.phase != Phase.SUSPENDED or json.loads(request)["url"] != URL:
                raise RuntimeError("the script did not ask")
            started_ns = time.perf_counter_ns()
            head = json.dumps({"status": 200, "headers": {}, "url": URL}).encode()
            isolate.write_buffer(head, BODY.encode())
            state = isolate.enter("resume", 1, len(head), len(BODY))
            check(json.loads(isolate.read_buffer(state.part_bytes[0])[0]))
            resumed_ns = time.perf_counter_ns()
        finally:
            isolate.close()
        return made_ns - began_ns, started_ns - made_ns, resumed_ns - started_ns, time.perf_counter_ns() - resumed_ns


def phases_ms(level: Level, seconds_s: float) -> dict[str, list[float]]:
    """Runs for so long; the milliseconds of each phase of each run."""
    samples: list[tuple[int, int, int, int]] = []
    end_s = time.perf_counter() + seconds_s
    while not samples or time.perf_counter() < end_s:
        samples.append(level.run())
    return {name: [sample[i] / 1e6 for sample in samples] for i, name in enumerate(PHASES)}


def threads_runs_per_s(level: Level, seconds_s: float) -> float:
    """Runs in so many threads at once; the runs of all in a second."""
    counts = [0] * THREADS_COUNT

    def work(i: int) -> None:
        while time.perf_counter() < end_s:
            level.run()
            counts[i] += 1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS_COUNT)]
    began_s = time.perf_counter()
    end_s = began_s + seconds_s
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - began_s)


async def handovers_ms(seconds_s: float) -> list[float]:
    """From the event loop to a guest thread that does nothing, and back."""
    threads = GuestThreads(1)
    samples: list[float] = []
    end_s = time.perf_counter() + seconds_s
    try:
        while not samples or time.perf_counter() < end_s:
            began_ns = time.perf_counter_ns()
            await threads.call(lambda: None, lambda: None)
            samples.append((time.perf_counter_ns() - began_ns) / 1e6)
    finally:
        threads.close()
    return samples


def main(seconds_s: float) -> None:
    level = Level()
    for _ in range(WARM_RUNS_COUNT):
        level.run()
    document = {
        "phases_ms": phases_ms(level, seconds_s),
        "handovers_ms": anyio.run(functools.partial(handovers_ms, seconds_s / 4)),
        "threads_runs_per_s": threads_runs_per_s(level, seconds_s),
    }
    print(json.dumps(document))


if __name__ == "__main__":
    main(float(sys.argv[1]))
