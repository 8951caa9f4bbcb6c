"""The time that compiling took is the run's own: it counts towards the limits, and the certificate has it."""

from __future__ import annotations

import pytest
from tests.host.runs import run

from keelbox.runner import not_started
from keelbox_sandbox.contract import FailureCode, Limits, Usage
from keelbox_sandbox.wasm import WasmSandbox

pytestmark = pytest.mark.anyio


async def test_usage_has_what_compiling_used(sandbox: WasmSandbox) -> None:
    outcome = await run(sandbox, "return 1;", used=Usage(cpu_s=3, wall_s=40))
    usage = outcome.certificate.usage
    assert outcome.code is None
    assert (3 < usage.cpu_s < Limits().cpu_s, 40 < usage.wall_s < Limits().wall_s) == (True, True)


async def test_compiling_leaves_less_processor_time(sandbox: WasmSandbox) -> None:
    outcome = await run(sandbox, "for (;;);", limits=Limits(cpu_s=7), used=Usage(cpu_s=6.9))
    assert outcome.code is FailureCode.CPU_EXCEEDED
    assert outcome.message == "the script used more than 7 s of processor time (cpu_s), 6.9 s of it to compile"


async def test_compiling_leaves_less_time(sandbox: WasmSandbox) -> None:
    outcome = await run(sandbox, "return 1;", limits=Limits(wall_s=7), used=Usage(wall_s=7))
    assert outcome.code is FailureCode.TIME_EXCEEDED
    assert outcome.message == "the run took longer than 7 s, waiting included (wall_s), 7 s of it to compile"


async def test_messages_of_other_runs_are_the_sandbox_s_own(sandbox: WasmSandbox) -> None:
    outcome = await run(sandbox, "for (;;);", limits=Limits(cpu_s=0.05))
    assert outcome.message == "the script used more than 0.05 s of processor time (cpu_s)"


def test_what_never_began_may_have_used_time() -> None:
    usage = Usage(cpu_s=5, wall_s=6)
    assert not_started(FailureCode.CPU_EXCEEDED, "cut", used=usage).certificate.usage == usage
