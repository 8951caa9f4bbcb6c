"""E39: a tool that beacons is stopped, within one run and over many, and every attempt is on record."""

# ruff: noqa: N802

from __future__ import annotations

from collections import Counter

import pytest
from tests.host.runs import CALLER
from tests.servers.fault_server import FaultServer, Peer
from tests.servers.http_call import call

from keelbox.conversation import MemoryConversation
from keelbox.egress.operator import OperatorEgress
from keelbox.egress.policy import EgressPolicy
from keelbox.egress.rates import RequestGate
from keelbox.egress.secrets import RunSecrets
from keelbox.egress.secrets_rule import SecretRule
from keelbox.outcome import Fate, RunOutcome
from keelbox.runner import run_script
from keelbox_sandbox.contract import Limits, Script
from keelbox_sandbox.wasm import WasmSandbox

VALUE = "sk_live/4eC39+HqLyj=WDa?"

pytestmark = pytest.mark.anyio

BEACON = """
import Http from 'system/http';
export const exec = async (input) => {
    const codes = {};
    for (let i = 0; i < input.times; i++) {
        let code = 'sent';
        try { await Http.get(input.url); } catch (error) { code = error.code; }
        codes[code] = (codes[code] ?? 0) + 1;
    }
    return codes;
};
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def honest(peer: Peer) -> None:
    peer.answer(200, {}, b"x")


async def beacon(
    url: str,
    gate: RequestGate | None,
    *,
    times: int = 10_000,
    tool: str = "Beacon",
    tenant: str = "shop",
    secrets: RunSecrets | None = None,
) -> RunOutcome:
    async with WasmSandbox() as sandbox:
        return await run_script(
            sandbox=sandbox,
            script=Script(entry="beacon.js", modules={"beacon.js": BEACON}),
            call_input={"url": url, "times": times},
            caller=CALLER,
            limits=Limits(requests_count=100, cpu_s=20),
            egress=EgressPolicy(allow_loopback=True),
            conversation=MemoryConversation(),
            tool_name=tool,
            tenant_id=tenant,
            gate=gate,
            secrets=secrets,
        )


async def test_E39_run_stops_at_its_own_count() -> None:
    with FaultServer(honest) as server:
        outcome = await beacon(server.url(), None)
        assert len(server.requests) == 100
    assert outcome.result == {"sent": 100, "too-many-requests": 9_900}


async def test_E39_many_runs_stop_at_the_tools_and_the_tenants_count() -> None:
    operator = OperatorEgress(tool_requests_per_minute_count=30, tenant_requests_per_minute_count=50)
    gate = RequestGate(operator, clock=lambda: 1000.0)
    with FaultServer(honest) as server:
        runs = [await beacon(server.url(), gate, times=20) for _ in range(3)]
        other = await beacon(server.url(), gate, times=40, tool="Other")
        stranger = await beacon(server.url(), gate, times=10, tenant="bank")
        assert len(server.requests) == 30 + 20 + 10
    assert [run.result.get("sent", 0) for run in runs] == [20, 10, 0]
    assert (other.result, stranger.result) == ({"sent": 20, "too-many-requests": 20}, {"sent": 10})


async def test_E39_every_attempt_is_on_record_without_secrets() -> None:
    gate = RequestGate(OperatorEgress(tool_requests_per_minute_count=5), clock=lambda: 1000.0)
    with FaultServer(honest) as server:
        rule = SecretRule(name="KEY", hosts=(f"127.0.0.1:{server.port}",), header="authorization")
        outcome = await beacon(server.url(), gate, times=20, secrets=RunSecrets([rule], {"KEY": VALUE}))
        assert {seen.headers["authorization"] for seen in server.requests} == {VALUE}
    ops = outcome.certificate.ops
    assert Counter((op.fate, op.code) for op in ops) == {
        (Fate.ANSWERED, None): 5,
        (Fate.REFUSED, "too-many-requests"): 15,
    }
    assert all("egress.max_requests_per_minute.tool" in (op.detail or "") for op in ops[5:])
    assert VALUE not in repr(outcome)


async def test_E39_script_learns_no_detail_of_the_limit() -> None:
    gate = RequestGate(OperatorEgress(tool_requests_per_minute_count=1), clock=lambda: 1000.0)
    source = BEACON.replace("code = error.code", "code = error.message")
    assert source != BEACON
    with FaultServer(honest) as server:
        async with WasmSandbox() as sandbox:
            outcome = await run_script(
                sandbox=sandbox,
                script=Script(entry="beacon.js", modules={"beacon.js": source}),
                call_input={"url": server.url(), "times": 2},
                caller=CALLER,
                limits=Limits(),
                egress=EgressPolicy(allow_loopback=True),
                conversation=MemoryConversation(),
                gate=gate,
            )
    assert outcome.result == {"sent": 1, "too many requests were made within a minute; try again later": 1}


@pytest.mark.parametrize("allowed_count", [1, 2, 3])
def test_E39_redirects_count_too(allowed_count: int) -> None:
    gate = RequestGate(OperatorEgress(tool_requests_per_minute_count=allowed_count), clock=lambda: 1000.0)
    with FaultServer(lambda peer: peer.answer(302, {"Location": "/again"})) as server:
        called = call(server.url(), gate=gate)
        assert len(server.requests) == allowed_count
    assert called.code == "too-many-requests"
