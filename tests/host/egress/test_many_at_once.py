"""Hundreds of runs wait for their servers in one process, and hold no thread meanwhile."""

from __future__ import annotations

import threading

import anyio
import pytest
from tests.servers.fault_server import FaultServer, Peer, response
from tests.servers.http_call import LOOPBACK, http_op

from keelbox.egress.run_egress import RunEgress
from keelbox.ops.http import HttpOps
from keelbox.outcome import Fate

RUNS_COUNT = 500


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_500_exchanges_wait_at_once_in_one_process(backend: str) -> None:
    """The server answers none before it has read all, so they can only end if all of them are open together."""
    everybody = threading.Barrier(RUNS_COUNT)

    def wait_for_everybody(peer: Peer) -> None:
        peer.read_request()
        everybody.wait()
        peer.send(response(200, {}, b"x"))

    async def run_all(url: str) -> list[HttpOps]:
        runs = [HttpOps(RunEgress(policy=LOOPBACK)) for _ in range(RUNS_COUNT)]
        deadline_s = anyio.current_time() + 30
        async with anyio.create_task_group() as tasks:
            for ops in runs:
                tasks.start_soon(perform, ops, url, deadline_s)
        return runs

    async def perform(ops: HttpOps, url: str, deadline_s: float) -> None:
        await ops.perform(http_op(url), deadline_s=deadline_s)

    with FaultServer(wait_for_everybody) as server:
        runs = anyio.run(run_all, server.url(), backend=backend)
        assert server.connections_count == RUNS_COUNT
    assert {record.fate for ops in runs for record in ops.records} == {Fate.ANSWERED}
