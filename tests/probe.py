"""Measures one member of the hostile corpus in a process of its own: ``python -m tests.probe NAME LIMITS``.

Prints one JSON object; `measure` starts it and reads that.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import anyio
from tests.hostile import source
from tests.wall import LIMITS, Guest, reply

from keelbox_sandbox.contract import Limits, Op, Reply
from keelbox_sandbox.wasm import WasmSandbox

__all__ = ["Measured", "can_measure_memory", "measure", "resident_bytes"]

_RESET = Path("/proc/self/clear_refs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a run cost its process."""

    code: str | None
    guest_cpu_s: float
    process_cpu_s: float
    """Of all threads: the guest's, and what the host did for it."""
    wall_s: float
    growth_bytes: int
    """From the resident size before the run to the highest one during it."""


def can_measure_memory() -> bool:
    """Whether this system can tell the highest resident size of a stretch of time."""
    return os.access(_RESET, os.W_OK)


def measure(name: str, **limits: float) -> Measured:
    """Run a member of the corpus in a child process."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "tests.probe", name, json.dumps(limits)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=55)
    return Measured(**json.loads(done.stdout))


def forget_highest_size() -> None:
    """From now on the highest resident size (VmHWM) is that since this call."""
    _RESET.write_text("5", "utf-8")


def resident_bytes(key: str = "VmRSS") -> int:
    """This process's resident size now (``VmRSS``), or the highest so far (``VmHWM``)."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{key} is not in /proc/self/status")


async def _perform(op: Op) -> Reply:
    return reply()  # and keeps nothing of the op


async def _main(name: str, limits: Limits) -> None:
    async with WasmSandbox() as sandbox:
        guest = Guest(sandbox=sandbox, language="js")
        assert await guest.value("return (await Http.get('http://a.test/')).status;", perform=_perform) == 200
        text = source(name)
        gc.collect()
        if can_measure_memory():
            forget_highest_size()
        before_bytes = resident_bytes()
        cpu_s, wall_s = time.process_time(), time.monotonic()
        result = await guest.run(text, limits=limits, perform=_perform)
        measured = {
            "code": result.code,
            "guest_cpu_s": result.usage.cpu_s,
            "process_cpu_s": time.process_time() - cpu_s,
            "wall_s": time.monotonic() - wall_s,
            "growth_bytes": resident_bytes("VmHWM") - before_bytes,
        }
        assert await guest.value("return 'next';", limits=LIMITS) == "next"
    sys.stdout.write(json.dumps(measured))


if __name__ == "__main__":
    anyio.run(_main, sys.argv[1], Limits(**json.loads(sys.argv[2])))
