"""E14, E15, E17: what a resolver can do."""

# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest
from anyio.abc import SocketStream
from tests.servers.fault_server import FaultServer, Peer
from tests.servers.http_call import Called, FakeResolver, call
from tests.servers.unanswering import unanswering

from keelbox.egress import wire
from keelbox.egress.policy import EgressPolicy
from keelbox.outcome import Fate


def honest(peer: Peer) -> None:
    peer.answer()


def call_name(port: int, *answers: Sequence[str] | Exception, resolver: FakeResolver | None = None) -> Called:
    """Call ``api.test`` with these answers; loopback is allowed for it."""
    policy = EgressPolicy(hosts=[f"api.test:{port}"], schemes=("http",), allow_loopback=True)
    return call(f"http://api.test:{port}/", policy=policy, resolver=resolver or FakeResolver(*answers))


@pytest.mark.parametrize("private", ["10.0.0.1", "169.254.169.254", "fd00::1", "0.0.0.0", "::ffff:7f00:1"])
@pytest.mark.parametrize("position", [0, 1])
def test_E14_one_private_answer_denies_the_name(private: str, position: int) -> None:
    answers = ["127.0.0.1"]
    answers.insert(position, private)
    with FaultServer(honest) as server:
        called = call_name(server.port, answers)
        assert server.connections_count == 0
    assert (called.code, called.fate) == ("denied", Fate.REFUSED)
    assert private in called.detail


def test_E14_one_loopback_answer_among_public_ones_denies_the_name() -> None:
    policy = EgressPolicy(hosts=["api.test"])
    called = call("https://api.test/", policy=policy, resolver=FakeResolver(["8.8.8.8", "127.0.0.1"]))
    assert (called.code, called.fate) == ("denied", Fate.REFUSED)


def test_E14_thousand_answers_deny_the_name() -> None:
    answers = [f"127.0.{number // 250}.{number % 250 + 1}" for number in range(1000)]
    with FaultServer(honest) as server:
        called = call_name(server.port, answers)
        assert server.connections_count == 0
    assert (called.code, called.fate) == ("denied", Fate.REFUSED)
    assert "1000 addresses" in called.detail


def test_E15_name_is_resolved_once_and_the_checked_address_is_used() -> None:
    resolver = FakeResolver(["127.0.0.1"], ["10.0.0.1"])
    with FaultServer(honest) as server:
        assert call_name(server.port, resolver=resolver).status == 200
    assert resolver.asked == ["api.test"]


def test_E15_name_that_turns_private_is_denied_at_the_next_request() -> None:
    resolver = FakeResolver(["127.0.0.1"], ["10.0.0.1"])
    with FaultServer(honest) as server:
        codes = [call_name(server.port, resolver=resolver).code for _ in range(2)]
        assert server.connections_count == 1
    assert codes == [None, "denied"]


def test_E15_name_that_turns_private_in_a_redirect_is_denied() -> None:
    resolver = FakeResolver(["127.0.0.1"], ["10.0.0.1"])
    with FaultServer(lambda peer: peer.answer(302, {"Location": "/again"})) as server:
        called = call_name(server.port, resolver=resolver)
        assert server.connections_count == 1
    assert called.code == "denied"


def test_E15_connection_that_reaches_another_peer_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer(honest) as server, FaultServer(honest) as other:
        connect_tcp = anyio.connect_tcp

        async def connect_elsewhere(remote_host: str, remote_port: int) -> SocketStream:
            return await connect_tcp(remote_host, other.port)

        monkeypatch.setattr(anyio, "connect_tcp", connect_elsewhere)
        called = call_name(server.port, ["127.0.0.1"])
        assert other.requests == []
    assert (called.code, called.fate) == ("denied", Fate.NOT_SENT)


@pytest.mark.parametrize(
    ("answers", "host"),
    [
        (["127.0.0.1"], "127.0.0.1"),
        (["::1"], "::1"),
        (["127.0.0.2", "127.0.0.1"], "127.0.0.1"),
        (["::1", "127.0.0.1"], "127.0.0.1"),
        (["127.0.0.1", "::1"], "::1"),
    ],
)
def test_E17_checked_addresses_are_tried_in_turn(answers: list[str], host: str) -> None:
    with FaultServer(honest, host=host) as server:
        assert call_name(server.port, answers).status == 200


def test_E17_unanswering_first_address_leaves_time_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "ATTEMPT_S", 0.05)
    with FaultServer(honest) as server, unanswering("127.0.0.2", server.port):
        assert call_name(server.port, ["127.0.0.2", "127.0.0.1"]).status == 200


def test_E17_no_address_answers_is_connect_failed() -> None:
    called = call_name(1, ["127.0.0.1", "127.0.0.2", "::1"])
    assert (called.code, called.fate) == ("connect-failed", Fate.NOT_SENT)
    assert all(address in called.detail for address in ("127.0.0.1", "127.0.0.2", "::1"))


def test_E17_name_without_an_address_is_dns_failed() -> None:
    called = call_name(1, OSError("no such name"))
    assert (called.code, called.fate) == ("dns-failed", Fate.NOT_SENT)
