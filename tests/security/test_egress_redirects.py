"""E18, E19: where a server can send a request next."""

# ruff: noqa: N802

from __future__ import annotations

import pytest
from tests.servers.certificates import HOST, ca_file, server_context
from tests.servers.fault_server import FaultServer, Peer, response
from tests.servers.http_call import FakeResolver, call

from keelbox.egress.method_rule import MethodRule
from keelbox.egress.policy import EgressPolicy
from keelbox.outcome import Fate


def redirecting(location: str, status: int = 302) -> FaultServer:
    """A server that redirects ``/`` and answers everything else."""

    def behave(peer: Peer) -> None:
        is_first = peer.read_request().target == "/"
        lines = f"Location: {location}\r\n" if is_first else ""
        peer.send(f"HTTP/1.1 {status if is_first else 200} X\r\n{lines}Content-Length: 0\r\n\r\n".encode("latin-1"))

    return FaultServer(behave)


@pytest.mark.parametrize(
    "location",
    [
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/",
        "http://[::ffff:127.0.0.1]/",
        "http://127.1/",
        "http://2130706433/",
        "https://evil.example/",
        "//evil.example/",
        "http://db.internal/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:70/",
        "javascript:x",
        "a" * 200 + "://x/",
        "http://user:pass@127.0.0.1/",
    ],
)
def test_E18_redirect_is_a_new_check_under_the_full_rule(location: str) -> None:
    with redirecting(location) as server:
        called = call(server.url())
        assert server.connections_count == 1
    assert (called.code, called.fate) == ("denied", Fate.ANSWERED)


@pytest.mark.parametrize(
    "location", ["http://a b/", "http://", "http://127.0.0.1:0/", "http://[::1/", "/\\evil.example/", "/" + "x" * 9000]
)
def test_E18_malformed_redirect_is_a_protocol_error(location: str) -> None:
    with redirecting(location) as server:
        assert call(server.url()).code == "protocol-error"


def test_E18_three_redirects_are_followed_and_a_fourth_is_not() -> None:
    def count_down(peer: Peer) -> None:
        left = int(peer.read_request().target[1:])
        peer.send(f"HTTP/1.1 302 X\r\nLocation: /{left - 1}\r\n\r\n".encode() if left else b"HTTP/1.1 204 X\r\n\r\n")

    with FaultServer(count_down) as server:
        assert call(server.url("/3")).status == 204
        called = call(server.url("/4"))
        assert server.connections_count == 4 + 4
    assert (called.code, called.fate) == ("too-many-redirects", Fate.ANSWERED)


@pytest.mark.parametrize("location", ["/", "", "#x", "?"])
def test_E18_loop_ends(location: str) -> None:
    with FaultServer(lambda peer: peer.answer(307, {"Location": location})) as server:
        assert call(server.url(), method="POST", body=b"x").code == "too-many-redirects"
        assert len(server.requests) == 4


def test_E18_followed_redirect_is_one_record_of_the_first_request() -> None:
    with redirecting("/next") as server:
        called = call(server.url(), method="POST", body=b"body")
        assert [(seen.method, seen.target, seen.body) for seen in server.requests] == [
            ("POST", "/", b"body"),
            ("GET", "/next", b""),
        ]
    assert called.reply is not None
    assert called.reply.head["url"] == server.url("/next")
    assert (called.record.method, called.record.url, called.record.status) == ("POST", server.url("/"), 200)
    assert called.detail == f"redirected to {server.url('/next')}"


def test_E18_redirect_without_a_location_is_an_answer() -> None:
    with FaultServer(lambda peer: peer.answer(302, {}, b"where?")) as server:
        called = call(server.url())
    assert (called.status, called.body) == (302, b"where?")


@pytest.mark.parametrize("status", [300, 304, 305, 306])
def test_E18_other_3xx_is_never_followed(status: int) -> None:
    with FaultServer(lambda peer: peer.answer(status, {"Location": "/next"})) as server:
        assert call(server.url()).status == status
        assert server.connections_count == 1


def test_E18_redirect_from_https_to_http_is_denied() -> None:
    with FaultServer(lambda peer: peer.answer()) as plain:

        def redirect(peer: Peer) -> None:
            peer.answer(302, {"Location": plain.url()})

        with FaultServer(redirect, tls=server_context()) as server:
            policy = EgressPolicy(hosts=[f"{HOST}:{server.port}"], allow_loopback=True)
            resolver = FakeResolver(["127.0.0.1"])
            called = call(server.url(host=HOST), policy=policy, resolver=resolver, ca_file=ca_file())
        assert plain.connections_count == 0
    assert (called.code, called.fate) == ("denied", Fate.ANSWERED)


def test_E18_redirect_to_a_method_that_the_run_may_not_use_is_denied() -> None:
    with redirecting("/next", status=303) as server:
        called = call(server.url(), method="POST", methods=MethodRule(methods=["POST"]))
        assert server.connections_count == 1
    assert (called.code, called.fate) == ("denied", Fate.ANSWERED)


CREDENTIALS = {"Authorization": "Bearer s", "X-Api-Key": "s", "X-Session": "s", "Accept": "text/html"}


def test_E19_credentials_never_follow_to_another_origin() -> None:
    with FaultServer(lambda peer: peer.answer()) as other, redirecting(other.url()) as server:
        assert call(server.url(), headers=CREDENTIALS).status == 200
        (seen,) = other.requests
    assert seen.headers["accept"] == "text/html"
    assert not {"authorization", "x-api-key", "x-session"} & set(seen.headers)


def test_E19_other_name_of_the_same_server_is_another_origin() -> None:
    def redirect(peer: Peer) -> None:
        host, _, port = peer.read_request().headers["host"].partition(":")
        location = f"http://localhost:{port}/" if host == "127.0.0.1" else ""
        peer.send(response(302 if location else 200, {"Location": location} if location else {}))

    with FaultServer(redirect) as server:
        assert call(server.url(), headers=CREDENTIALS).status == 200
        assert ["authorization" in seen.headers for seen in server.requests] == [True, False]


def test_E19_credentials_follow_within_the_origin() -> None:
    with redirecting("/next") as server:
        assert call(server.url(), headers=CREDENTIALS).status == 200
        assert [seen.headers["authorization"] for seen in server.requests] == ["Bearer s", "Bearer s"]
