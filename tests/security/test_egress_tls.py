"""E35: the peer is always verified, and a tool has no way out of that."""

# ruff: noqa: N802

from __future__ import annotations

import ssl
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from tests.servers.certificates import HOST, ca_file, server_context
from tests.servers.fault_server import FaultServer, Peer, head
from tests.servers.http_call import Called, FakeResolver, call

from keelbox.egress.policy import EgressPolicy
from keelbox.outcome import Fate


def call_tls(server: FaultServer, host: str = HOST, *, trusted: Path | None = None, backend: str = "asyncio") -> Called:
    policy = EgressPolicy(hosts=[f"{HOST}:{server.port}"], allow_loopback=True)
    return call(
        server.url(host=host),
        policy=policy,
        resolver=FakeResolver(["127.0.0.1"]),
        ca_file=trusted or ca_file(),
        backend=backend,
    )


def old_tls() -> ssl.SSLContext:
    context = server_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


BAD: dict[str, Callable[[], ssl.SSLContext]] = {
    "unknown_authority": lambda: server_context(by=trustme.CA()),
    "wrong_name": lambda: server_context("other.test"),
    "name_below": lambda: server_context(f"www.{HOST}"),
    "wildcard_above": lambda: server_context("*.test.test"),
    "only_common_name": lambda: server_context("other.test", common_name=HOST),
    "expired": lambda: server_context(not_after=datetime(2020, 1, 2, tzinfo=UTC)),
}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_E35_trusted_server_is_reached_under_its_own_name(backend: str) -> None:
    names: list[str | None] = []
    context = server_context()
    context.sni_callback = lambda _, name, __: names.append(name)
    with FaultServer(lambda peer: peer.answer(200, {}, b"hello"), tls=context) as server:
        called = call_tls(server, backend=backend)
        assert server.requests[0].headers["host"] == f"{HOST}:{server.port}"
    assert (called.body, names) == (b"hello", [HOST])


@pytest.mark.parametrize("name", BAD)
def test_E35_certificate_that_does_not_hold_is_refused(name: str) -> None:
    with FaultServer(lambda peer: peer.answer(), tls=BAD[name]()) as server:
        called = call_tls(server)
        assert server.requests == []
    assert (called.code, called.fate) == ("tls-failed", Fate.NOT_SENT)
    assert "127.0.0.1" in called.detail


@pytest.mark.parametrize(
    "make", [old_tls, lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)], ids=["tls_1_1", "no_certificate"]
)
def test_E35_weak_tls_is_refused(make: Callable[[], ssl.SSLContext]) -> None:
    with FaultServer(lambda peer: peer.answer(), tls=make()) as server:
        called = call_tls(server)
    assert (called.code, called.fate) == ("tls-failed", Fate.NOT_SENT)


@pytest.mark.parametrize(
    ("name", "code"), [("127.0.0.1", None), ("localhost", "tls-failed"), ("127.0.0.2", "tls-failed")]
)
def test_E35_address_needs_a_certificate_for_the_address(name: str, code: str | None) -> None:
    with FaultServer(lambda peer: peer.answer(), tls=server_context(name)) as server:
        assert call_tls(server, "127.0.0.1").code == code


def test_E35_plain_server_on_the_tls_port_is_refused() -> None:
    with FaultServer(lambda peer: peer.send(b"HTTP/1.1 200 OK\r\n\r\n")) as server:
        called = call_tls(server, HOST)
        assert called.code == "denied", "http is not allowed by this policy"
        policy = EgressPolicy(hosts=[f"{HOST}:{server.port}"], allow_loopback=True)
        url = f"https://{HOST}:{server.port}/"
        called = call(url, policy=policy, resolver=FakeResolver(["127.0.0.1"]), ca_file=ca_file())
    assert (called.code, called.fate) == ("tls-failed", Fate.NOT_SENT)


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_E35_ca_file_without_certificates_trusts_nobody(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    with FaultServer(lambda peer: peer.answer(), tls=server_context()) as server:
        called = call_tls(server, trusted=path)
        assert server.requests == []
    assert (called.code, called.fate) == ("tls-failed", Fate.NOT_SENT)
    assert "CA file" in called.detail


def test_E35_changed_ca_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    other = trustme.CA()
    with FaultServer(lambda peer: peer.answer(), tls=server_context()) as server:
        other.cert_pem.write_to_path(str(path))
        assert call_tls(server, trusted=path).code == "tls-failed"
        path.unlink()
        path.write_bytes(ca_file().read_bytes())
        assert call_tls(server, trusted=path).status == 200


def test_E35_body_cut_off_under_tls_is_not_taken_for_whole() -> None:
    def cut(peer: Peer) -> None:
        peer.read_request()
        peer.send(head(200) + b"half a body, and no goodbye of TLS")

    with FaultServer(cut, tls=server_context()) as server:
        called = call_tls(server)
    assert (called.code, called.fate) == ("protocol-error", Fate.ANSWERED)
