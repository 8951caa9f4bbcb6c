"""A cassette in the network's place: the same rules before it, the same record after it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.servers.fault_server import FaultServer, Peer, response
from tests.servers.http_call import LOOPBACK, Called, FakeResolver, call

from keelbox.egress.cassette import FATES
from keelbox.egress.cassette_file import parse_cassette
from keelbox.egress.faults import EgressCode
from keelbox.egress.method_rule import MethodRule
from keelbox.egress.player import Player
from keelbox.egress.policy import EgressPolicy
from keelbox.egress.recorder import Recorder
from keelbox.errors import ReplayError
from keelbox.outcome import Fate

A_ONLY = EgressPolicy(hosts=("a.example.com",))


def player(*exchanges: str) -> Player:
    """A cassette of GET requests: each is a path of a.example.com, a colon, and the result in YAML."""
    text = "cassette: 1\nexchanges:" + ("" if exchanges else " []")
    for exchange in exchanges:
        path, _, result = exchange.partition(": ")
        text += f"\n  - request: {{method: GET, url: https://a.example.com{path}}}\n    {result}"
    return Player(parse_cassette(text, "c.yaml"))


def get(
    tape: Player, path: str, *, room_bytes: int = 1000, policy: EgressPolicy = A_ONLY, backend: str = "asyncio"
) -> Called:
    return call(
        f"https://a.example.com{path}",
        tape=tape,
        policy=policy,
        resolver=FakeResolver(AssertionError("a name was looked up")),
        room_bytes=room_bytes,
        backend=backend,
    )


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_answer_comes_from_the_cassette(backend: str) -> None:
    called = get(player("/x: response: {status: 201, headers: {X-A: '1'}, json: {a: 1}}"), "/x", backend=backend)
    assert called.reply is not None
    assert called.reply.head == {"status": 201, "headers": {"x-a": "1"}, "url": "https://a.example.com/x"}
    assert called.body == b'{"a":1}'


def test_record_says_where_the_answer_came_from() -> None:
    record = get(player("/x: response: {status: 200, text: abc}"), "/x").record
    assert (record.fate, record.status, record.bytes_in, record.code) == (Fate.ANSWERED, 200, 3, None)
    assert record.detail == "replayed from c.yaml:3"


@pytest.mark.parametrize("code", list(FATES))
def test_error_is_the_one_of_the_cassette(code: EgressCode) -> None:
    called = get(player(f"/x: error: {{code: {code}}}"), "/x")
    assert (called.code, called.fate, called.detail) == (code, FATES[code], "replayed from c.yaml:3")


def test_rules_hold_as_with_the_network() -> None:
    tape = player("/x: response: {status: 200}")
    assert get(tape, "/x", policy=EgressPolicy(hosts=("b.example.com",))).code == "denied"
    assert get(tape, "/x").status == 200


def test_method_that_is_not_allowed_never_comes_to_the_cassette() -> None:
    methods = MethodRule(methods=["GET"])
    called = call("https://a.example.com/x", method="POST", methods=methods, policy=A_ONLY, tape=player())
    assert (called.code, called.fate) == ("denied", Fate.REFUSED)


def test_answer_must_fit_into_the_buffer() -> None:
    called = get(player("/x: response: {status: 200, text: abcde}"), "/x", room_bytes=4)
    assert (called.code, called.fate) == ("response-too-large", Fate.ANSWERED)
    assert "c.yaml:3 holds 5 bytes; the exchange buffer has 4" in called.detail


def test_redirect_is_followed_within_the_cassette() -> None:
    tape = player("/x: response: {status: 301, headers: {location: /y}}", "/y: response: {status: 200, text: there}")
    called = get(tape, "/x")
    assert called.reply is not None
    assert (called.reply.head["url"], called.body) == ("https://a.example.com/y", b"there")
    assert "redirected to https://a.example.com/y" in called.detail


@pytest.mark.parametrize("location", ["https://b.example.com/", "http://a.example.com/", "https://127.0.0.1/"])
def test_redirect_is_judged_as_with_the_network(location: str) -> None:
    tape = player(f"/x: response: {{status: 301, headers: {{location: '{location}'}}}}")
    assert get(tape, "/x").code == "denied"


def test_redirects_end_as_with_the_network() -> None:
    tape = player(*["/x: response: {status: 302, headers: {location: /x}}"] * 4)
    assert get(tape, "/x").code == "too-many-redirects"


def test_order_counts_and_the_hint_says_so() -> None:
    tape = player("/1: response: {status: 200}", "/2: response: {status: 200}")
    with pytest.raises(ReplayError) as caught:
        get(tape, "/2")
    assert caught.value.message == (
        "request 1 is not the one that the cassette holds (c.yaml:3):\n"
        "- GET https://a.example.com/1\n"
        "+ GET https://a.example.com/2"
    )
    assert caught.value.hint == "line 5 holds this request; the order counts too"


def test_unexpected_request_is_told() -> None:
    tape = player("/1: response: {status: 200}")
    get(tape, "/1")
    with pytest.raises(ReplayError) as caught:
        get(tape, "/1")
    assert caught.value.message == (
        "request 2 is not in the cassette c.yaml, which holds 1 and all were used:\n+ GET https://a.example.com/1"
    )


def test_requests_that_were_left_over_are_told() -> None:
    tape = player(*[f"/{number}: response: {{status: 200}}" for number in range(8)])
    get(tape, "/0")
    fault = tape.left_over()
    assert fault is not None
    first, *lines = fault.message.split("\n")
    assert first == "the script ended without 7 requests that the cassette c.yaml holds:"
    assert lines[0] == "- GET https://a.example.com/1 (line 5)"
    assert lines[-1] == "  … 2 more"


def test_nothing_is_left_over_of_a_cassette_that_was_used_up() -> None:
    tape = player("/1: response: {status: 200}")
    get(tape, "/1")
    assert tape.left_over() is None


def test_replay_gives_what_the_recording_gave(tmp_path: Path) -> None:
    """The same ops against a real server and its cassette: same replies, same errors, same records but the times."""

    def behave(peer: Peer) -> None:
        match peer.read_request().target:
            case "/redirect":
                peer.send(response(307, {"Location": "/answer"}))
            case "/answer":
                peer.send(response(404, {"X-A": "b", "Content-Type": "application/json"}, b'{"a":[1,2]}\n'))
            case "/large":
                peer.send(response(200, {}, b"x" * 5000))
            case _:
                peer.reset()

    def seen(called: Called) -> object:
        record = called.record
        facts = (record.method, record.url, record.fate, record.status, record.bytes_out, record.code)
        return facts, called.code, called.reply and (dict(called.reply.head), bytes(called.reply.body))

    def all_of(tape: Recorder | Player) -> list[object]:
        paths = ("/redirect", "/answer", "/large", "/reset")
        return [seen(call(server.url(path), method="POST", body=b"b", tape=tape, room_bytes=1000)) for path in paths]

    recorder = Recorder(tmp_path / "c.yaml")
    with FaultServer(behave) as server:
        recorded = all_of(recorder)
    recorder.close()

    tape = Player(parse_cassette((tmp_path / "c.yaml").read_text("utf-8"), "c.yaml"))
    assert all_of(tape) == recorded
    assert tape.left_over() is None


def test_deadline_of_the_op_holds() -> None:
    """A deadline that is over before the op begins ends it, and the cassette keeps the exchange."""
    tape = player("/x: response: {status: 200}")
    called = call("https://a.example.com/x", tape=tape, policy=A_ONLY, deadline_s=-1)
    assert called.code == "timeout"
    assert tape.left_over() is not None


def test_loopback_needs_its_permission_in_a_replay_too() -> None:
    text = "cassette: 1\nexchanges:\n  - request: {method: GET, url: http://127.0.0.1:9/}\n    response: {status: 200}"
    tape = Player(parse_cassette(text, "c.yaml"))
    assert call("http://127.0.0.1:9/", tape=tape, policy=A_ONLY).code == "denied"
    assert call("http://127.0.0.1:9/", tape=tape, policy=LOOPBACK).status == 200
