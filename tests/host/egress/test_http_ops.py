"""One op from head to reply and record, against a real server."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.servers.fault_server import FaultServer, Peer
from tests.servers.http_call import LOOPBACK, FakeResolver, call, http_op

from keelbox.egress.method_rule import MethodRule
from keelbox.egress.policy import EgressPolicy
from keelbox.egress.run_egress import RunEgress
from keelbox.ops.http import HttpOps
from keelbox.outcome import Fate


def honest(peer: Peer) -> None:
    peer.answer(200, {"X-Answer": "yes"}, b"hello")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_reply_has_status_headers_url_and_body(backend: str) -> None:
    with FaultServer(honest) as server:
        called = call(server.url("/a?b=c#d"), backend=backend)
        assert called.reply is not None
        assert called.reply.head == {
            "status": 200,
            "headers": {"x-answer": "yes", "content-length": "5"},
            "url": server.url("/a?b=c"),
        }
    assert called.body == b"hello"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_method_headers_and_body_arrive(method: str) -> None:
    body = b"x" * 200_000
    with FaultServer(honest) as server:
        called = call(server.url("/x"), method=method, headers={"X-Key": "v"}, body=body, room_bytes=len(body))
        (seen,) = server.requests
    assert (seen.method, seen.headers["x-key"], seen.body) == (method, "v", body)
    assert (called.record.bytes_out, called.record.bytes_in) == (200_000, 5)


@pytest.mark.parametrize("status", [200, 204, 400, 404, 429, 500, 503])
def test_any_status_is_an_answer(status: int) -> None:
    with FaultServer(lambda peer: peer.answer(status)) as server:
        called = call(server.url())
    assert (called.status, called.fate, called.record.status) == (status, Fate.ANSWERED, status)


def test_head_has_the_length_and_no_body() -> None:
    with FaultServer(lambda peer: peer.answer(200, {"Content-Type": "a/b"})) as server:
        called = call(server.url(), method="HEAD")
    assert (called.body, called.headers["content-type"]) == (b"", "a/b")


def test_one_record_an_op_in_order() -> None:
    async def run_ops(url: str) -> HttpOps:
        ops = HttpOps(RunEgress(policy=LOOPBACK))
        for number in range(3):
            await ops.perform(http_op(f"{url}{number}"), deadline_s=anyio.current_time() + 10)
        return ops

    with FaultServer(honest) as server:
        ops = anyio.run(run_ops, server.url("/"))
    assert [record.url[-2:] for record in ops.records] == ["/0", "/1", "/2"]
    assert {(record.kind, record.method, record.code) for record in ops.records} == {("http", "GET", None)}


@pytest.mark.parametrize(
    "op",
    [
        {"method": "TRACE"},
        {"method": "CONNECT"},
        {"method": "get"},
        {"method": ""},
        {"method": None},
        {"method": 1},
        {"method": "GET\r\n"},
        {"url": None},
        {"url": 1},
        {"url": ["http://127.0.0.1/"]},
        {"headers": "a"},
        {"body": b"x"},
        {"timeout_ms": 0},
        {"timeout_ms": -1},
        {"timeout_ms": True},
        {"timeout_ms": "1"},
        {"timeout_ms": float("nan")},
        {"timeout_ms": float("inf")},
        {"timeout_ms": 10**400},
        {"extra": 1},
        {"method": "POST", "body": b"x" * 101, "room_bytes": 100},
    ],
)
def test_malformed_head_is_invalid_and_touches_nothing(op: dict[str, Any]) -> None:
    with FaultServer(honest) as server:
        fields: dict[str, Any] = {"url": server.url(), **op}
        called = call(fields.pop("url"), **fields)
        assert server.connections_count == 0
    assert (called.code, called.fate) == ("request-invalid", Fate.REFUSED)


def test_absent_headers_and_time_limit_are_none() -> None:
    with FaultServer(honest) as server:
        op = replace(http_op(server.url()), head={"method": "GET", "url": server.url()})

        async def perform() -> int:
            reply = await HttpOps(RunEgress(policy=LOOPBACK)).perform(op, deadline_s=anyio.current_time() + 10)
            return int(reply.head["status"])

        assert anyio.run(perform) == 200


def test_method_that_the_run_may_not_use_is_denied() -> None:
    with FaultServer(honest) as server:
        called = call(server.url(), method="POST", methods=MethodRule(methods=["GET", "HEAD"]))
        assert server.connections_count == 0
    assert (called.code, called.fate) == ("denied", Fate.REFUSED)
    assert "method POST is not allowed" in called.detail


def test_route_leads_to_loopback_and_says_so() -> None:
    with FaultServer(honest) as server:
        policy = EgressPolicy(
            hosts=["api.example.com"], allow_loopback=True, routes={"api.example.com": server.url("")}
        )
        called = call("https://api.example.com/v1?q=1", policy=policy)
        (seen,) = server.requests
    assert (seen.target, seen.headers["host"]) == ("/v1?q=1", "api.example.com")
    assert called.reply is not None
    assert called.reply.head["url"] == "https://api.example.com/v1?q=1"
    assert called.detail == f"routed to {server.url('')}"


def test_time_limit_of_the_op_shortens_the_deadline() -> None:
    with FaultServer(Peer.wait_until_left) as server:
        called = call(server.url(), timeout_ms=50, deadline_s=60)
    assert (called.code, called.fate) == ("timeout", Fate.IN_FLIGHT)


def test_time_limit_of_the_op_never_lengthens_the_deadline() -> None:
    with FaultServer(Peer.wait_until_left) as server:
        called = call(server.url(), timeout_ms=60_000, deadline_s=0.05)
    assert called.code == "timeout"


def test_deadline_in_the_past_sends_nothing() -> None:
    with FaultServer(honest) as server:
        called = call(server.url(), deadline_s=-1)
        assert server.connections_count == 0
    assert (called.code, called.fate) == ("timeout", Fate.REFUSED)


def test_unexpected_error_goes_through_and_is_recorded() -> None:
    ops = HttpOps(RunEgress(policy=EgressPolicy(hosts=["a.com"]), resolver=FakeResolver(LookupError("a bug"))))

    async def perform() -> None:
        await ops.perform(http_op("https://a.com/"), deadline_s=anyio.current_time() + 10)

    with pytest.raises(LookupError, match="a bug"):
        anyio.run(perform)
    assert [(record.code, record.fate) for record in ops.records] == [("host-error", Fate.NOT_SENT)]


def test_cancelled_op_closes_its_connection_and_is_recorded() -> None:
    arrived, left = threading.Semaphore(0), threading.Semaphore(0)

    async def cut(server: FaultServer) -> HttpOps:
        ops = HttpOps(RunEgress(policy=LOOPBACK))
        async with anyio.create_task_group() as tasks:

            async def perform() -> None:
                await ops.perform(http_op(server.url(), method="POST"), deadline_s=anyio.current_time() + 60)

            tasks.start_soon(perform)
            await anyio.to_thread.run_sync(arrived.acquire)
            tasks.cancel_scope.cancel()
        return ops

    def note_and_wait(peer: Peer) -> None:
        peer.read_request()
        arrived.release()
        peer.wait_until_left()
        left.release()

    with FaultServer(note_and_wait) as server:
        (record,) = anyio.run(cut, server).records
        assert left.acquire(timeout=10)
    assert (record.fate, record.code, record.may_have_effect) == (Fate.IN_FLIGHT, "cancelled", True)
