"""E19, E21, E40: where a secret's value goes, where it never goes, and that it does not come back."""

# ruff: noqa: N802

from __future__ import annotations

import base64
import gzip
import json
import logging
import urllib.parse
from collections.abc import Callable
from typing import Any

import pytest
from tests.servers.behaviours import raw
from tests.servers.certificates import HOST, ca_file, server_context
from tests.servers.fault_server import FaultServer, Peer, head, response
from tests.servers.http_call import LOOPBACK, Called, FakeResolver, call

from keelbox.egress.policy import EgressPolicy
from keelbox.egress.secrets import RunSecrets
from keelbox.egress.secrets_rule import SecretRule

VALUE = "sk_live/4eC39+HqLyj=WDa?"
HANDLE = "{{secret:KEY}}"


def secrets(server: FaultServer, *more_hosts: str, values: dict[str, str] | None = None, **parts: Any) -> RunSecrets:
    """The secret KEY for a server's own address, in the header ``authorization`` unless ``parts`` say otherwise."""
    hosts = (f"127.0.0.1:{server.port}", *more_hosts)
    fields: dict[str, Any] = {"header": "authorization", "format": "Bearer {}", **parts}
    rule = SecretRule(name="KEY", hosts=hosts, **fields)
    return RunSecrets([rule], {"KEY": VALUE} if values is None else values)


def honest(peer: Peer) -> None:
    peer.answer(200, {}, b"fine")


def sent(server: FaultServer) -> list[str | None]:
    return [seen.headers.get("authorization") for seen in server.requests]


def holds_value(server: FaultServer) -> bool:
    """Whether anything that a server got holds the value."""
    return any(VALUE in f"{seen.target}{dict(seen.headers)}{seen.body.decode()}" for seen in server.requests)


def everywhere(called: Called) -> str:
    """All that came of a call, for the script and for the operator."""
    reply = () if called.reply is None else (dict(called.reply.head), called.body.decode("latin-1"))
    return repr((reply, called.error, called.record))


def test_E19_value_goes_to_its_host_only() -> None:
    with FaultServer(honest) as listed, FaultServer(honest) as other:
        bound = secrets(listed)
        assert call(listed.url("/a?b=c"), secrets=bound).detail == "with secret KEY"
        assert call(other.url(), secrets=bound).code is None
        assert call(listed.url(host="localhost"), secrets=bound).code is None
        assert (sent(listed), sent(other)) == ([f"Bearer {VALUE}", None], [None])
        assert [seen.target for seen in listed.requests] == ["/a?b=c", "/"]


def test_E19_value_goes_over_verified_tls_to_the_name_that_is_listed() -> None:
    with FaultServer(honest, tls=server_context()) as server:
        name = f"{HOST}:{server.port}"
        called = call(
            server.url(host=HOST),
            policy=EgressPolicy(hosts=[name], allow_loopback=True),
            resolver=FakeResolver(["127.0.0.1"]),
            ca_file=ca_file(),
            secrets=secrets(server, name),
        )
    assert (called.body, sent(server)) == (b"fine", [f"Bearer {VALUE}"])


@pytest.mark.parametrize("trusted", [True, False])
def test_E19_value_is_not_sent_to_who_has_another_certificate(trusted: bool) -> None:
    with FaultServer(honest, tls=server_context("other.test")) as server:
        name = f"{HOST}:{server.port}"
        called = call(
            server.url(host=HOST),
            policy=EgressPolicy(hosts=[name], allow_loopback=True),
            resolver=FakeResolver(["127.0.0.1"]),
            ca_file=ca_file() if trusted else None,
            secrets=secrets(server, name),
        )
    assert (called.code, server.requests) == ("tls-failed", [])


def test_E19_value_never_goes_in_plain_http_beyond_this_machine() -> None:
    rule = SecretRule(name="KEY", hosts=("api.example.com",), header="authorization")
    called = call(
        "http://api.example.com/",
        policy=EgressPolicy(hosts=["api.example.com"], schemes=["http", "https"]),
        resolver=FakeResolver(["1.1.1.1"]),
        secrets=RunSecrets([rule], {"KEY": VALUE}),
    )
    assert (called.code, called.fate) == ("denied", "refused")
    assert "secret KEY never goes to http://api.example.com in plain http" in called.detail


@pytest.mark.parametrize(
    ("parts", "method", "target"),
    [
        ({"methods": ("GET",)}, "POST", "/"),
        ({"paths": ("/v1/*",)}, "GET", "/v2/x"),
        ({"paths": ("/v1/*",)}, "GET", "/v1"),
        ({"paths": ("/v1",)}, "GET", "/v1/"),
        ({"paths": ("/v1/*",)}, "GET", "/v1/../v2"),
        ({"paths": ("/v1/*",)}, "GET", "/v1/%2e%2e/v2"),
        ({"paths": ("/v1/*",)}, "GET", "/v1/..%2fv2"),
        ({"paths": ("/v1/*",)}, "GET", "/v1/..%5Cv2"),
        ({"paths": ("/v1/*",)}, "GET", "/v1/%252e%252e/v2"),
        ({"paths": ("/v1/*",)}, "GET", "/v1/..;/v2"),
        ({"paths": ("/v1/*",)}, "GET", "/v1//v2"),
        ({"paths": ("/v1/*",)}, "GET", "/v2?/v1/"),
        ({"paths": ("/v1/*",)}, "GET", "/V1/x"),
    ],
)
def test_E19_request_that_does_not_fit_goes_without(parts: dict[str, Any], method: str, target: str) -> None:
    with FaultServer(honest) as server:
        assert call(server.url(target), method=method, secrets=secrets(server, **parts)).code is None
        assert sent(server) == [None]


@pytest.mark.parametrize("target", ["/v1/", "/v1/x", "/v1/a/b?c=..%2f", "/v1/./x", "/v0/../v1/x"])
def test_E19_request_that_fits_its_paths_goes_with_it(target: str) -> None:
    with FaultServer(honest) as server:
        call(server.url(target), secrets=secrets(server, paths=("/v1/*",), methods=("GET",)))
        assert sent(server) == [f"Bearer {VALUE}"]


def redirecting(location: str, status: int = 307) -> Callable[[Peer], None]:
    return lambda peer: peer.answer(status, {"Location": location})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_E19_value_is_stripped_when_a_redirect_leads_elsewhere(status: int) -> None:
    with FaultServer(honest) as other, FaultServer(redirecting(other.url("/x"), status)) as first:
        called = call(first.url(), secrets=secrets(first), headers={"X-Mine": f"also {HANDLE}"})
        assert (called.body, sent(first), sent(other)) == (b"fine", [f"Bearer {VALUE}"], [None])
        assert not holds_value(other)


def test_E19_value_is_decided_anew_for_each_hop() -> None:
    with (
        FaultServer(honest) as last,
        FaultServer(redirecting(last.url())) as middle,
        FaultServer(redirecting(middle.url("/between"))) as first,
    ):
        call(first.url(), secrets=secrets(first, f"127.0.0.1:{last.port}"))
        assert (sent(first), sent(middle), sent(last)) == ([f"Bearer {VALUE}"], [None], [f"Bearer {VALUE}"])


def test_E19_redirect_to_a_path_that_is_not_listed_goes_without() -> None:
    with FaultServer(lambda peer: peer.answer(302, {"Location": "/public"})) as server:
        call(server.url("/v1/x"), secrets=secrets(server, paths=("/v1/*",)))
        assert sent(server)[:2] == [f"Bearer {VALUE}", None]


@pytest.mark.parametrize(
    ("headers", "body"),
    [({"User-Agent": HANDLE}, b""), ({}, json.dumps({"key": HANDLE}).encode())],
)
def test_E19_handle_that_follows_a_redirect_elsewhere_is_denied(headers: dict[str, str], body: bytes) -> None:
    with FaultServer(honest) as other, FaultServer(redirecting(other.url())) as first:
        bound = secrets(first, fields=("/key",))
        called = call(first.url(), method="POST", headers=headers, body=body, secrets=bound)
        assert (called.code, other.connections_count) == ("denied", 0)
        assert holds_value(first)


def test_E19_handle_is_replaced_in_headers_and_listed_fields() -> None:
    body = f'{{"auth": {{"key": "{HANDLE}"}}, "n": 1.0, "list": [1, "x={HANDLE};"]}}'
    with FaultServer(honest) as server:
        bound = secrets(server, header=None, format="{}", fields=("/auth/key", "/list/1"))
        call(server.url(), method="POST", headers={"X-Key": f"Token {HANDLE}"}, body=body.encode(), secrets=bound)
        (seen,) = server.requests
    assert seen.headers["x-key"] == f"Token {VALUE}"
    assert seen.body.decode() == body.replace(HANDLE, VALUE)
    assert "authorization" not in seen.headers


def test_E19_value_is_escaped_where_it_stands_in_json() -> None:
    value = 'quote" and \\ back'
    with FaultServer(honest) as server:
        bound = secrets(server, fields=("/key",), values={"KEY": value})
        call(server.url(), method="POST", body=json.dumps({"key": HANDLE}).encode(), secrets=bound)
        assert json.loads(server.requests[0].body) == {"key": value}


@pytest.mark.parametrize(
    "op",
    [
        {"target": f"/?key={HANDLE}"},
        {"target": "/?key=%7B%7Bsecret%3aKEY%7D%7D"},
        {"target": f"/{HANDLE}"},
        {"headers": {"X-Key": "{{secret:KEY"}},
        {"headers": {"X-Key": "{{secret:}}"}},
        {"headers": {"X-Key": "{{secret:key}}"}},
        {"headers": {"X-Key": "{{secret:OTHER}}"}},
        {"headers": {HANDLE: "x"}},
        {"headers": {"Authorization": "Bearer mine"}},
        {"body": f"key={HANDLE}".encode()},
        {"body": f'{{"other": "{HANDLE}"}}'.encode()},
        {"body": f'{{"key": {{"{HANDLE}": 1}}}}'.encode()},
        {"body": f'{{"key": "{HANDLE}", "key": 1}}'.encode()},
        {"body": f'{{"key": "{HANDLE}", "pad": "{"x" * 262144}"}}'.encode()},
        {"body": b'{"key": "{{secret:OTHER}}"}'},
        {"body": b"\xff" + HANDLE.encode()},
    ],
)
def test_E19_handle_where_none_may_stand_is_invalid(op: dict[str, Any]) -> None:
    with FaultServer(honest) as server:
        url = server.url(op.pop("target", "/"))
        op.setdefault("method", "POST")
        called = call(url, secrets=secrets(server, fields=("/key",)), room_bytes=1 << 20, **op)
        assert (called.code, called.fate, server.connections_count) == ("request-invalid", "refused", 0)
    assert called.error is not None
    assert VALUE not in everywhere(called)


def test_E19_handle_without_any_secret_is_invalid() -> None:
    with FaultServer(honest) as server:
        called = call(server.url(), headers={"X-Key": HANDLE})
    assert (called.code, called.detail) == ("request-invalid", "secret KEY is not among the tool's secrets (none)")


def echo(*writers: Callable[[str], bytes]) -> Callable[[Peer], None]:
    """A server that writes what it got into a header and, in these forms, into its body."""

    def behave(peer: Peer) -> None:
        got = peer.read_request().headers["authorization"]
        peer.send(response(200, {"X-Echo": got}, b"|".join(write(got) for write in writers)))

    return behave


WRITERS: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "base64": lambda got: base64.b64encode(got.encode()),
    "base64_value": lambda got: base64.b64encode(got.removeprefix("Bearer ").encode()),
    "base64_later": lambda got: base64.b64encode(f"x{got}yz".encode()),
    "base64_url": lambda got: base64.urlsafe_b64encode(f"{got}.".encode()).rstrip(b"="),
    "url": lambda got: urllib.parse.quote(got, safe="").encode(),
    "url_lower": lambda got: urllib.parse.quote(got, safe="").lower().encode(),
    "url_form": lambda got: urllib.parse.urlencode({"key": got}).encode(),
    "json": lambda got: json.dumps({"key": got}).replace("/", "\\/").encode(),
    "hex": lambda got: got.encode().hex().encode(),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=list(WRITERS))
def test_E21_echoed_value_is_masked_in_every_form(write: Callable[[str], bytes]) -> None:
    with FaultServer(echo(write)) as server:
        called = call(server.url(), secrets=secrets(server))
    assert called.headers["x-echo"] == f"Bearer {HANDLE}"
    assert HANDLE.encode() in called.body
    assert write(VALUE) not in called.body
    assert write(f"Bearer {VALUE}") not in called.body
    assert VALUE.lower() not in everywhere(called).lower()


def gzipped(peer: Peer) -> None:
    got = peer.read_request().headers["authorization"]
    peer.send(response(200, {"Content-Encoding": "gzip"}, gzip.compress(b"x" * 70_000 + got.encode())))


def one_byte_a_chunk(peer: Peer) -> None:
    got = peer.read_request().headers["authorization"]
    chunks = "".join(f"1\r\n{char}\r\n" for char in got)
    peer.send(head(200, {"Transfer-Encoding": "chunked"}) + f"{chunks}0\r\n\r\n".encode())


@pytest.mark.parametrize("behave", [gzipped, one_byte_a_chunk])
def test_E21_echoed_value_is_masked_however_it_is_sent(behave: Callable[[Peer], None]) -> None:
    with FaultServer(behave) as server:
        called = call(server.url(), secrets=secrets(server), room_bytes=100_000)
    assert called.body.endswith(f"Bearer {HANDLE}".encode())


def test_E21_length_of_a_masked_body_is_not_claimed() -> None:
    with FaultServer(echo(str.encode)) as server:
        called = call(server.url(), secrets=secrets(server))
    assert "content-length" not in called.headers


def test_E21_masked_body_never_outgrows_the_buffer() -> None:
    def flood(peer: Peer) -> None:
        peer.read_request()
        peer.send(response(200, {}, (VALUE.encode() + b".") * 100))

    with FaultServer(flood) as server:
        bound = secrets(server, values={"KEY": VALUE[:8]})
        called = call(server.url(), secrets=bound, room_bytes=2500)
    assert called.code == "response-too-large"


@pytest.mark.parametrize(
    "behave",
    [
        raw(f"HTTP/1.1 OK {VALUE}\r\n\r\n".encode()),
        raw(f"HTTP/1.1 200 OK\r\n{VALUE}\r\n\r\n".encode()),
        raw(f"HTTP/1.1 200 OK\r\nContent-Encoding: {VALUE}\r\nContent-Length: 1\r\n\r\nx".encode()),
        raw(f"HTTP/1.1 200 OK\r\n{VALUE}: a\x01b\r\n\r\n".encode()),
        raw(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: {VALUE}\r\n\r\n".encode()),
        raw(response(302, {"Location": f"/?key={urllib.parse.quote(VALUE, safe='')}"})),
        raw(response(302, {"Location": f"https://{VALUE}@evil.example/"})),
        raw(response(302, {"Location": f"https://127.0.0.1/{base64.urlsafe_b64encode(VALUE.encode()).decode()}"})),
    ],
)
def test_E21_errors_and_records_are_masked(behave: Callable[[Peer], None], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with FaultServer(behave) as server:
        called = call(server.url(), secrets=secrets(server))
    assert called.code in ("protocol-error", "denied")
    for text in (everywhere(called), caplog.text):
        assert VALUE not in text
        assert urllib.parse.quote(VALUE, safe="") not in text


def test_E21_redirect_that_carries_the_value_is_not_followed() -> None:
    with FaultServer(honest) as other:
        location = f"{other.url()}?key={urllib.parse.quote(VALUE, safe='')}"
        with FaultServer(redirecting(location)) as first:
            called = call(first.url(), secrets=secrets(first))
        assert other.connections_count == 0
    assert (called.code, called.fate) == ("denied", "answered")
    assert "redirects to a URL that holds the value of a secret" in called.detail


@pytest.mark.parametrize("logger", ["", "httpcore2", "httpcore2.http11", "httpcore2.connection"])
def test_E21_http_library_logs_no_headers(caplog: pytest.LogCaptureFixture, logger: str) -> None:
    caplog.set_level(logging.DEBUG, logger or None)
    with FaultServer(echo(str.encode)) as server:
        call(server.url(), secrets=secrets(server))
    assert VALUE not in caplog.text
    assert "httpcore2" not in caplog.text


def test_E21_http_library_still_logs_for_others(caplog: pytest.LogCaptureFixture) -> None:
    import httpcore2

    caplog.set_level(logging.DEBUG)
    with FaultServer(honest) as server, httpcore2.ConnectionPool() as pool:
        pool.request("GET", server.url())
    assert "receive_response_headers" in caplog.text


@pytest.mark.parametrize(
    ("op", "values"),
    [
        ({}, {}),
        ({"headers": {"X-Key": HANDLE}, "method": "POST"}, None),
        ({"headers": {"X-Key": HANDLE}, "target": "/other"}, None),
    ],
)
def test_E40_denials_of_secrets_look_like_all_others(op: dict[str, Any], values: dict[str, str] | None) -> None:
    with FaultServer(honest) as server:
        bound = secrets(server, values=values, methods=("GET",), paths=("/",))
        called = call(server.url(op.pop("target", "/")), secrets=bound, **op)
        assert server.connections_count == 0
    assert called.error is not None
    assert (called.error.code, called.error.message) == (
        "denied",
        "the request is not allowed by the egress rules of this tool",
    )
    assert called.detail.startswith("secret KEY")


def test_E40_denial_of_a_handle_for_another_host_touches_no_network() -> None:
    resolver = FakeResolver(OSError("never to be asked"))
    with FaultServer(honest) as server:
        called = call(
            "https://ok.example/",
            headers={"X-Key": HANDLE},
            policy=EgressPolicy(hosts=["ok.example"]),
            resolver=resolver,
            secrets=secrets(server),
        )
    assert (called.code, resolver.asked) == ("denied", [])
    assert "ok.example is not among its hosts" in called.detail


def test_value_is_in_no_representation() -> None:
    with FaultServer(honest) as server:
        bound = secrets(server)
        call(server.url(), secrets=bound, policy=LOOPBACK)
    assert VALUE not in repr((bound, bound.scrubber, vars(bound).keys()))
