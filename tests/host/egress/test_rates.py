"""How many requests may leave within a minute and at once."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from tests.host.runs import Gate
from tests.servers.fault_server import FaultServer, Peer
from tests.servers.http_call import LOOPBACK, SENDER, call, http_op

from keelbox.egress.faults import EgressCode, EgressError
from keelbox.egress.operator import OperatorEgress
from keelbox.egress.rates import WINDOW_S, RequestGate, Sender
from keelbox.egress.run_egress import RunEgress
from keelbox.ops.http import HttpOps
from keelbox.outcome import Fate, OpRecord


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def gate(clock: Clock, *, tool: int | None = None, tenant: int | None = None) -> RequestGate:
    places = {"max_requests_per_minute.tool": "limits.yaml:7"}
    operator = OperatorEgress(
        tool_requests_per_minute_count=tool, tenant_requests_per_minute_count=tenant, places=places
    )
    return RequestGate(operator, clock=clock)


def admitted_count(gate: RequestGate, tries_count: int, sender: Sender = SENDER) -> int:
    count = 0
    for _ in range(tries_count):
        try:
            gate.admit(sender)
        except EgressError as fault:
            assert fault.code is EgressCode.TOO_MANY_REQUESTS
        else:
            count += 1
    return count


def test_limit_is_reached_and_no_more() -> None:
    assert admitted_count(gate(Clock(), tool=5), 8) == 5


def test_no_limit_admits_all() -> None:
    assert admitted_count(gate(Clock()), 10_000) == 10_000


def test_window_slides() -> None:
    clock = Clock()
    limited = gate(clock, tool=3)
    for second in (0, 10, 20):
        clock.now_s = 1000.0 + second
        limited.admit(SENDER)
    clock.now_s = 1000.0 + WINDOW_S - 0.001
    assert admitted_count(limited, 3) == 0
    clock.now_s = 1000.0 + WINDOW_S
    assert admitted_count(limited, 3) == 1
    clock.now_s = 1020.0 + WINDOW_S
    assert admitted_count(limited, 3) == 2


@pytest.mark.parametrize("gap_s", [0.0, 0.7, 3.0, 7.3, 20.0, 61.0])
def test_no_minute_ever_holds_more_than_the_limit(gap_s: float) -> None:
    clock, times_s = Clock(), list[float]()
    limited = gate(clock, tool=7)
    for _ in range(200):
        times_s += [clock.now_s] * admitted_count(limited, 2)
        clock.now_s += gap_s
    for start_s in times_s:
        assert sum(start_s <= time_s < start_s + WINDOW_S for time_s in times_s) <= 7


def test_refused_requests_do_not_count() -> None:
    clock = Clock()
    limited = gate(clock, tool=1)
    assert admitted_count(limited, 100) == 1
    clock.now_s += WINDOW_S
    assert admitted_count(limited, 1) == 1


def test_each_tool_has_its_own_count() -> None:
    limited = gate(Clock(), tool=2)
    for tool in ("One", "Two"):
        assert admitted_count(limited, 5, Sender(tool=tool, tenant="shop")) == 2


def test_tool_of_one_tenant_leaves_another_tenants_share_alone() -> None:
    limited = gate(Clock(), tool=2)
    for tenant in ("shop", "bank"):
        assert admitted_count(limited, 5, Sender(tool="One", tenant=tenant)) == 2


def test_tools_of_a_tenant_share_its_count() -> None:
    limited = gate(Clock(), tool=3, tenant=5)
    counts = [admitted_count(limited, 9, Sender(tool=tool, tenant="shop")) for tool in ("One", "Two", "Three")]
    assert counts == [3, 2, 0]


def test_request_beyond_the_tenants_limit_leaves_the_tools_count_alone() -> None:
    clock = Clock()
    limited = gate(clock, tool=2, tenant=1)
    admitted_count(limited, 5)
    clock.now_s += WINDOW_S
    assert admitted_count(limited, 5) == 1


def test_detail_says_which_limit_and_when_to_come_back() -> None:
    clock = Clock()
    limited = gate(clock, tool=1)
    limited.admit(SENDER)
    clock.now_s += 12.5
    with pytest.raises(EgressError) as caught:
        limited.admit(SENDER)
    assert caught.value.detail == (
        "tool 'Weather' has made 1 requests in the last 60 s, the most that egress.max_requests_per_minute.tool "
        "(limits.yaml:7) allows; the next may go in 47.5 s"
    )
    assert caught.value.message == "too many requests were made within a minute; try again later"


def test_names_do_not_pile_up() -> None:
    clock = Clock()
    limited = gate(clock, tool=1)
    for number in range(1000):
        limited.admit(Sender(tool=f"tool {number}", tenant="shop"))
        clock.now_s += 1
    assert limited.counts_count <= 2 * WINDOW_S


async def perform(ops: HttpOps, url: str, *, deadline_s: float = 30) -> None:
    await ops.perform(http_op(url), deadline_s=anyio.current_time() + deadline_s)


def slots(count: int) -> RequestGate:
    return RequestGate(OperatorEgress(concurrent_count=count))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_no_more_requests_than_slots_are_under_way(backend: str) -> None:
    under_way, most, lock = 0, 0, threading.Lock()

    def count(peer: Peer) -> None:
        nonlocal under_way, most
        peer.read_request()
        with lock:
            under_way += 1
            most = max(most, under_way)
        peer.pause(0.01)
        with lock:
            under_way -= 1
        peer.send(b"HTTP/1.1 204 X\r\n\r\n")

    async def perform_all(url: str) -> None:
        shared = slots(3)
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(perform, HttpOps(RunEgress(policy=LOOPBACK, gate=shared, sender=SENDER)), url)

    with FaultServer(count) as server:
        anyio.run(perform_all, server.url(), backend=backend)
        assert len(server.requests) == 20
    assert most == 3


def test_waiting_request_times_out_within_its_own_limit() -> None:
    records: list[OpRecord] = []

    async def wait_in_vain(url: str, hold: Gate) -> None:
        shared = slots(1)
        first, second = (HttpOps(RunEgress(policy=LOOPBACK, gate=shared, sender=SENDER)) for _ in range(2))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(perform, first, url)
            await hold.arrived()
            with pytest.raises(Exception, match="timeout"):
                await perform(second, url, deadline_s=0.05)
            hold.open()
        records.extend((*first.records, *second.records))
        await perform(second, url)

    hold = Gate()
    with FaultServer(hold) as server:
        anyio.run(wait_in_vain, server.url(), hold)
        assert len(server.requests) == 2
    answered, waited = records
    assert answered.fate is Fate.ANSWERED
    assert (waited.fate, waited.code) == (Fate.REFUSED, "timeout")
    assert "waiting until fewer requests are under way (egress.max_concurrent)" in (waited.detail or "")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "https://10.0.0.1/"])
def test_slot_is_given_back_after_a_failure(url: str) -> None:
    shared = slots(1)
    for _ in range(3):
        call(url, gate=shared)
    assert shared.slots.value == 1


@pytest.mark.parametrize("op", [{"url": "https://other.example/"}, {"url": "http://127.0.0.1/", "method": "TRACE"}])
def test_denied_request_is_not_counted(op: dict[str, Any]) -> None:
    clock = Clock()
    limited = gate(clock, tool=1)
    for _ in range(3):
        call(gate=limited, **op)
    assert admitted_count(limited, 2) == 1
