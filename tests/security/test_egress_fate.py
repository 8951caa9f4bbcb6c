"""The certificate's fate of a request is right for a failure at each stage (T16; issue: effect knowledge)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.servers.behaviours import raw
from tests.servers.fault_server import Behaviour, FaultServer, Peer, head, response
from tests.servers.http_call import FakeResolver, call

from keelbox.egress.policy import EgressPolicy
from keelbox.outcome import Fate

NAMED = EgressPolicy(hosts=["a.com"])


@pytest.mark.parametrize(
    ("op", "code", "fate"),
    [
        ({"url": "not a url"}, "request-invalid", Fate.REFUSED),
        ({"url": "https://b.com/", "policy": NAMED}, "denied", Fate.REFUSED),
        ({"url": "https://a.com/", "policy": NAMED, "resolver": FakeResolver(["10.0.0.1"])}, "denied", Fate.REFUSED),
        ({"url": "https://a.com/", "policy": NAMED, "resolver": FakeResolver(OSError())}, "dns-failed", Fate.NOT_SENT),
        ({"url": "http://127.0.0.1:1/"}, "connect-failed", Fate.NOT_SENT),
    ],
)
def test_failure_before_the_first_byte_has_no_effect(op: dict[str, Any], code: str, fate: Fate) -> None:
    called = call(method="POST", **op)
    assert (called.code, called.fate, called.record.may_have_effect) == (code, fate, False)
    assert called.record.bytes_out == 0


def posted(behave: Behaviour, **op: Any) -> tuple[str | None, Fate]:
    """Code and fate of a POST."""
    with FaultServer(behave) as server:
        called = call(server.url(), method="POST", body=b"x", deadline_s=0.3, **op)
        assert called.record.may_have_effect
    return called.code, called.fate


def redirect_then(then: Behaviour, status: int) -> Behaviour:
    def behave(peer: Peer) -> None:
        if peer.read_request().target == "/":
            peer.send(response(status, {"Location": "/next"}))
        else:
            then(peer)

    return behave


def test_no_answer_is_in_flight() -> None:
    assert posted(Peer.wait_until_left) == ("timeout", Fate.IN_FLIGHT)
    assert posted(raw()) == ("protocol-error", Fate.IN_FLIGHT)


def test_begun_answer_is_answered_whatever_follows() -> None:
    assert posted(raw(head(200, {"Content-Length": "9"}))) == ("protocol-error", Fate.ANSWERED)
    assert posted(lambda peer: peer.answer(200, {}, b"x" * 99), room_bytes=9) == ("response-too-large", Fate.ANSWERED)
    assert posted(lambda peer: peer.answer(500)) == (None, Fate.ANSWERED)


def test_post_that_was_redirected_is_answered_although_the_get_is_in_flight() -> None:
    assert posted(redirect_then(Peer.wait_until_left, 303)) == ("timeout", Fate.ANSWERED)


def test_post_that_was_sent_on_is_in_flight_when_the_second_is() -> None:
    assert posted(redirect_then(Peer.wait_until_left, 307)) == ("timeout", Fate.IN_FLIGHT)


def test_post_that_was_answered_stays_answered_when_its_redirect_is_denied() -> None:
    assert posted(lambda peer: peer.answer(307, {"Location": "http://10.0.0.1/"})) == ("denied", Fate.ANSWERED)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_safe_method_has_no_effect_whatever_its_fate(method: str) -> None:
    with FaultServer(Peer.wait_until_left) as server:
        called = call(server.url(), method=method, deadline_s=0.1)
    assert (called.fate, called.record.may_have_effect) == (Fate.IN_FLIGHT, False)
