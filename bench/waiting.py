"""Hundreds of runs that wait for a slow service, all in one process: ``python -m bench.waiting``.

The service is in a process of its own, answers after 0.2 s, and counts what is open at once. Each run tries to have two
requests open, of which the second is refused.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import anyio
from tests.servers.slow_server import Report, report, slow_server

from keelbox.conversation import MemoryConversation
from keelbox.egress.policy import EgressPolicy
from keelbox.outcome import RunOutcome
from keelbox.runner import Caller, run_script
from keelbox_sandbox.contract import Limits, Script
from keelbox_sandbox.wasm import WasmSandbox

__all__ = ["RUNS_COUNT", "Waiting", "measure"]

RUNS_COUNT = 500
ANSWER_AFTER_S = 0.2
TARGET_S = 3.0
ATTEMPTS_COUNT = 5

SOURCE = """
import Http from 'system/http';
export const exec = async (url) => {
    const first = Http.get(url);
    const second = Http.get(url).then(() => 'sent', (error) => error.code);
    return [(await first).status, await second];
};
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What all runs came to."""

    elapsed_s: float
    """From the start of the first to the end of the last, compiling included."""
    cpu_s: float
    """Processor time of this process meanwhile, all threads."""
    outcomes: list[RunOutcome]
    seen: Report
    """What the service has seen."""


def measure() -> Waiting:
    """Run them all at once."""
    outcomes: list[RunOutcome] = []
    with slow_server(answer_after_s=ANSWER_AFTER_S) as url:
        begun_s = time.process_time()
        elapsed_s = anyio.run(_run_all, url, outcomes)
        cpu_s = time.process_time() - begun_s
        return Waiting(elapsed_s=elapsed_s, cpu_s=cpu_s, outcomes=outcomes, seen=report(url))


async def _run_all(url: str, outcomes: list[RunOutcome]) -> float:
    async with WasmSandbox() as sandbox:
        begun_s = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for number in range(RUNS_COUNT):
                tasks.start_soon(_run_one, sandbox, f"{url}/run/{number}", outcomes)
        return time.perf_counter() - begun_s


async def _run_one(sandbox: WasmSandbox, url: str, outcomes: list[RunOutcome]) -> None:
    outcomes.append(
        await run_script(
            sandbox=sandbox,
            script=Script(entry="tool.js", modules={"tool.js": SOURCE}),
            call_input=url,
            caller=Caller(agent_id="main", session_id=url),
            limits=Limits(),
            egress=EgressPolicy(allow_loopback=True),
            conversation=MemoryConversation(),
        )
    )


def _main() -> None:
    best = min((measure() for _ in range(ATTEMPTS_COUNT)), key=lambda waiting: waiting.elapsed_s)
    print(
        f"{RUNS_COUNT} runs, each with a request that takes {ANSWER_AFTER_S} s: {best.elapsed_s:.2f} s "
        f"(target below {TARGET_S:g} s, best of {ATTEMPTS_COUNT}), {best.cpu_s:.2f} s of processor time; "
        f"requests open at once: {best.seen.open_peak_count}, of one run: {best.seen.open_peak_of_one_run_count}"
    )


if __name__ == "__main__":
    _main()
