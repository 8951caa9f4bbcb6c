"""E36, E40: nothing of one request is seen by another, and denials tell nothing."""

# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Mapping

import anyio
import pytest
from tests.servers.behaviours import raw
from tests.servers.fault_server import FaultServer, Peer, head, response
from tests.servers.http_call import LOOPBACK, FakeResolver, call, http_op

from keelbox.egress.operator import OperatorEgress
from keelbox.egress.policy import EgressPolicy
from keelbox.egress.run_egress import RunEgress
from keelbox.ops.http import HttpOps
from keelbox_sandbox.contract import OpError


def perform_twice(url: str) -> list[str]:
    """The bodies of two requests of one run, or their error codes."""
    ops = HttpOps(RunEgress(policy=LOOPBACK))

    async def perform() -> list[str]:
        bodies: list[str] = []
        for _ in range(2):
            try:
                reply = await ops.perform(http_op(url), deadline_s=anyio.current_time() + 10)
                bodies.append(bytes(reply.body).decode())
            except OpError as error:
                bodies.append(error.code)
        return bodies

    return anyio.run(perform)


def test_E36_every_request_has_a_connection_of_its_own() -> None:
    with FaultServer(lambda peer: peer.answer(200, {"Connection": "keep-alive"}, b"x")) as server:
        assert perform_twice(server.url()) == ["x", "x"]
        assert server.connections_count == 2


def test_E36_leftover_bytes_reach_nobody() -> None:
    smuggling = raw(response(200, {"Connection": "keep-alive"}, b"mine") + response(200, {}, b"leftover"))
    with FaultServer(smuggling) as server:
        assert perform_twice(server.url()) == ["mine", "mine"]


def test_E36_cookies_are_not_kept() -> None:
    with FaultServer(lambda peer: peer.answer(200, {"Set-Cookie": "session=1; Path=/"}, b"x")) as server:
        perform_twice(server.url())
        assert all("cookie" not in seen.headers for seen in server.requests)


def test_E36_broken_exchange_spoils_nothing_for_the_next() -> None:
    def break_first(peer: Peer) -> None:
        peer.read_request()
        whole = response(200, {}, b"good")
        peer.send(head(200, {"Content-Length": "100"}) + b"bad" if server.connections_count == 1 else whole)

    with FaultServer(break_first) as server:
        assert perform_twice(server.url()) == ["protocol-error", "good"]


PRIVATE = {
    "10.example": "10.0.0.1",
    "meta.example": "169.254.169.254",
    "self.example": "127.0.0.1",
    "v6.example": "fd00::1",
}


@pytest.mark.parametrize(
    "url",
    [
        "https://other.example/",
        "https://1.1.1.1/",
        "https://127.0.0.1/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://localhost/",
        "https://db.internal/",
        "https://u:p@ok.example/",
        "https://ok.example:8443/",
        "http://ok.example/",
        "ftp://ok.example/",
        "https://127.1/",
        *(f"https://{name}/" for name in PRIVATE),
    ],
)
def test_E40_denials_look_alike_to_the_script(url: str) -> None:
    resolver = Table(PRIVATE)
    called = call(url, policy=EgressPolicy(hosts=["ok.example", *PRIVATE]), resolver=resolver)
    assert called.error is not None
    assert (called.error.code, called.error.message) == (
        "denied",
        "the request is not allowed by the egress rules of this tool",
    )
    assert called.detail
    assert called.detail not in str(called.error)


@pytest.mark.parametrize(
    "operator",
    [
        OperatorEgress(allow=()),
        OperatorEgress(allow=("other.example",)),
        OperatorEgress(deny=("ok.example",)),
        OperatorEgress(deny=("1.1.1.1",)),
        OperatorEgress(ports=(8443,)),
    ],
)
def test_E40_denials_of_the_operator_look_like_all_others(operator: OperatorEgress) -> None:
    policy = EgressPolicy(hosts=["ok.example"], operator=operator)
    called = call("https://ok.example/", policy=policy, resolver=FakeResolver(["1.1.1.1"]))
    assert called.error is not None
    assert (called.error.code, called.error.message, called.fate) == (
        "denied",
        "the request is not allowed by the egress rules of this tool",
        "refused",
    )
    assert "in egress." in called.detail or "which egress." in called.detail or "among egress." in called.detail


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_E40_denied_host_touches_no_network(method: str) -> None:
    resolver = FakeResolver(OSError("never to be asked"))
    call("https://other.example/", method=method, policy=EgressPolicy(hosts=["ok.example"]), resolver=resolver)
    assert resolver.asked == []


@pytest.mark.parametrize("answer", [OSError("secret.resolver.internal"), ["10.11.12.13"], ["127.0.0.1"]])
def test_E40_error_texts_hold_no_detail_of_the_host(answer: list[str] | Exception) -> None:
    policy = EgressPolicy(hosts=["ok.example"])
    called = call("https://ok.example/", policy=policy, resolver=FakeResolver(answer))
    assert called.error is not None
    for word in ("10.11", "127.0", "internal", "ok.example", "/"):
        assert word not in called.error.message


class Table:
    """A resolver that knows some names."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._addresses = addresses

    async def resolve(self, host: str, port: int) -> list[str]:
        return [self._addresses[host]]
