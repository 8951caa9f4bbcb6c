"""The cases of `test_web_basics.py` once more, inside the wall: the guest's engine is another one than node's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.stdlib.test_web_basics import NODE, SUITES, compare

from keelbox_sandbox.contract import Call, Limits, Op, Reply
from keelbox_sandbox.wasm import WasmSandbox

SCRIPTS = Path(__file__).parent / "web"
LIMITS = Limits(cpu_s=40, heap_mib=128, return_kib=4096)


@pytest.fixture
def anyio_backend() -> str:
    """One is enough: what is tested runs in the guest."""
    return "asyncio"


@pytest.fixture
async def sandbox() -> AsyncIterator[WasmSandbox]:
    async with WasmSandbox() as opened:
        yield opened


async def no_op(op: Op) -> Reply:
    raise AssertionError(f"the suite made an op: {op.kind}")


async def run_suite(sandbox: WasmSandbox, suite: str) -> Any:
    def read(name: str) -> str:
        return (SCRIPTS / name).read_text(encoding="utf-8")

    script = await sandbox.gather("in-guest.mjs", read, LIMITS)
    result = await sandbox.run(script, Call(input=suite), LIMITS, no_op)
    assert result.code is None, (result.message, result.stack)
    return result.value


@pytest.mark.anyio
@pytest.mark.parametrize("suite", SUITES)
async def test_same_in_the_guest_under_sabotage(sandbox: WasmSandbox, suite: str) -> None:
    value = await run_suite(sandbox, suite)
    assert len(value["digests"]) >= SUITES[suite]
    assert value["sabotaged"] == {}


@pytest.mark.anyio
@pytest.mark.skipif(NODE is None, reason="node is not on the PATH")
@pytest.mark.parametrize("suite", SUITES)
async def test_same_in_the_guest_as_under_node(sandbox: WasmSandbox, suite: str) -> None:
    value = await run_suite(sandbox, suite)
    assert value["digests"] == compare(suite)["digests"]
