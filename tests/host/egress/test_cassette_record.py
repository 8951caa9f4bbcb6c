"""What is written down of real exchanges, and how."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path
from unittest.mock import patch

import anyio
import anyio.to_thread
import pytest
from tests.servers.fault_server import Behaviour, FaultServer, Peer, response
from tests.servers.http_call import LOOPBACK, ROOM_BYTES, FakeResolver, call

from keelbox.egress.cassette import CASSETTE_BYTES_MAX, Exchange, Failure, Response
from keelbox.egress.cassette_file import read_cassette
from keelbox.egress.client import EgressClient, Network
from keelbox.egress.faults import EgressCode
from keelbox.egress.policy import EgressPolicy
from keelbox.egress.recorder import Recorder
from keelbox.egress.request import Request
from keelbox.egress.run_egress import RunEgress
from keelbox.egress.scrub import Scrubber
from keelbox.egress.trail import Trail
from keelbox.egress.url import parse_url
from keelbox.errors import KeelboxError, UsageError
from keelbox.outcome import Fate

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "c.yaml")


def reset_after_the_request(peer: Peer) -> None:
    peer.read_request()
    peer.reset()


def answer_too_much(peer: Peer) -> None:
    peer.answer(200, {}, b"x" * (ROOM_BYTES + 1))


def written(recorder: Recorder, tmp_path: Path) -> tuple[Exchange, ...]:
    recorder.close()
    return read_cassette(tmp_path / "c.yaml").exchanges


def test_exchange_is_written_as_the_script_saw_it(recorder: Recorder, tmp_path: Path) -> None:
    with FaultServer(lambda peer: peer.answer(201, JSON | {"Set-Cookie": "a=b"}, b'{"id":5}')) as server:
        called = call(server.url("/x?a=1"), method="POST", headers={"X-Mine": "1"}, body=b"hello", tape=recorder)

    (exchange,) = written(recorder, tmp_path)
    request, result = exchange.request, exchange.result
    assert (request.method, request.body, request.headers) == ("POST", b"hello", {"x-mine": "1"})
    assert str(request.url) == server.url("/x?a=1")
    assert isinstance(result, Response)
    assert (result.status, result.body, result.headers) == (201, called.body, called.headers)
    assert "set-cookie" not in result.headers


def test_decoded_body_is_written(recorder: Recorder, tmp_path: Path) -> None:
    with FaultServer(lambda peer: peer.answer(200, {"Content-Encoding": "gzip"}, gzip.compress(b"plain"))) as server:
        call(server.url(), tape=recorder)
    (exchange,) = written(recorder, tmp_path)
    assert exchange.result == Response(status=200, body=b"plain")
    assert "text: plain" in (tmp_path / "c.yaml").read_text("utf-8")


def test_each_hop_of_a_redirect_is_an_exchange(recorder: Recorder, tmp_path: Path) -> None:
    def redirect_once(peer: Peer) -> None:
        seen = peer.read_request()
        peer.send(response(302, {"Location": "/there?x=1"}) if seen.target == "/" else response(200, {}, b"ok"))

    with FaultServer(redirect_once) as server:
        call(server.url(), tape=recorder)
    first, second = written(recorder, tmp_path)
    assert first.result == Response(status=302, headers={"location": "/there?x=1"})
    assert str(second.request.url) == server.url("/there?x=1")


@pytest.mark.parametrize(
    ("behave", "failure"),
    [
        (Peer.wait_until_left, Failure(code=EgressCode.TIMEOUT, fate=Fate.IN_FLIGHT)),
        (reset_after_the_request, Failure(code=EgressCode.PROTOCOL_ERROR, fate=Fate.IN_FLIGHT)),
        (answer_too_much, Failure(code=EgressCode.RESPONSE_TOO_LARGE, fate=Fate.ANSWERED, status=200)),
    ],
    ids=["timeout", "reset", "too-large"],
)
def test_failed_exchange_has_its_code_and_fate(
    recorder: Recorder, tmp_path: Path, behave: Behaviour, failure: Failure
) -> None:
    with FaultServer(behave) as server:
        called = call(server.url(), method="POST", body=b"x", timeout_ms=300, tape=recorder)
    (exchange,) = written(recorder, tmp_path)
    assert exchange.result == failure
    assert (called.code, called.fate) == (failure.code, failure.fate)


def test_name_with_a_private_address_is_an_exchange(recorder: Recorder, tmp_path: Path) -> None:
    call(
        "https://a.example.com/",
        policy=EgressPolicy(hosts=("a.example.com",)),
        resolver=FakeResolver(["10.0.0.1"]),
        tape=recorder,
    )
    (exchange,) = written(recorder, tmp_path)
    assert exchange.result == Failure(code=EgressCode.DENIED, fate=Fate.REFUSED)
    assert "10.0.0.1" not in (tmp_path / "c.yaml").read_text("utf-8")


@pytest.mark.parametrize("url", ["https://b.example.com/", "http://127.0.0.1:1/a b", "https://localhost/"])
def test_request_that_the_rules_refuse_is_no_exchange(recorder: Recorder, tmp_path: Path, url: str) -> None:
    assert call(url, policy=EgressPolicy(hosts=("a.example.com",)), tape=recorder).code in ("denied", "request-invalid")
    assert written(recorder, tmp_path) == ()


def test_credentials_of_the_script_itself_are_left_out(recorder: Recorder, tmp_path: Path) -> None:
    headers = {"Authorization": "Bearer plain-token", "X-API-Key": "plain-key", "Accept": "a/b"}
    with FaultServer(lambda peer: peer.answer()) as server:
        call(server.url(), headers=headers, tape=recorder)
        assert server.requests[0].headers["x-api-key"] == "plain-key"
    (exchange,) = written(recorder, tmp_path)
    assert exchange.request.headers == {"authorization": "*", "x-api-key": "*", "accept": "a/b"}
    assert "plain-" not in (tmp_path / "c.yaml").read_text("utf-8")


def test_secret_values_are_nowhere_in_the_file(recorder: Recorder, tmp_path: Path) -> None:
    """The host's scrubber is asked for whatever is written, also where the network should have scrubbed before."""
    value = "s3cr3t/valüe+1"
    answer = f'{{"echo": "{value}", "again": "{value}"}}'.encode()
    request = Request(
        method="POST", url=parse_url(f"http://127.0.0.1/x?q={value}"), headers=(("x-a", "s3cr3t"),), body=answer
    )
    recorder.over(Network(RunEgress(policy=LOOPBACK)), Scrubber({"KEY": value}))
    recorder.add(request, Response(status=200, headers={"x-b": "v", "content-length": str(len(answer))}, body=answer))

    (exchange,) = written(recorder, tmp_path)
    text = (tmp_path / "c.yaml").read_text("utf-8")
    assert "valüe" not in text
    assert "val%C3%BCe" not in text
    assert exchange.request.body == b'{"echo": "{{secret:KEY}}", "again": "{{secret:KEY}}"}'
    assert isinstance(exchange.result, Response)
    assert "content-length" not in exchange.result.headers


def test_older_recording_is_replaced_as_a_whole(recorder: Recorder, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("an older one", encoding="utf-8")
    note = recorder.close()
    assert note == f"recorded 0 exchanges in {tmp_path / 'c.yaml'}"
    assert read_cassette(tmp_path / "c.yaml").exchanges == ()
    assert [file.name for file in tmp_path.iterdir()] == ["c.yaml"]


def test_write_that_fails_leaves_the_older_recording(recorder: Recorder, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("an older one", encoding="utf-8")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with patch.object(os, "fsync", full), pytest.raises(KeelboxError, match="No space left"):
        recorder.close()
    assert {file.name: file.read_text("utf-8") for file in tmp_path.iterdir()} == {"c.yaml": "an older one"}


def test_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text("", encoding="utf-8")
    (tmp_path / "link.yaml").symlink_to("real.yaml")
    Recorder(tmp_path / "link.yaml").close()
    assert (tmp_path / "link.yaml").is_symlink()
    assert read_cassette(tmp_path / "real.yaml").exchanges == ()


def test_recording_larger_than_a_cassette_is_refused_and_not_held(recorder: Recorder, tmp_path: Path) -> None:
    half = Response(status=200, body=b"x" * (CASSETTE_BYTES_MAX // 2 + 1))
    request = Request(method="GET", url=parse_url("https://a.example/"))
    for _ in range(3):
        recorder.add(request, half)
    assert len(recorder.exchanges) == 1
    with pytest.raises(KeelboxError, match="the largest cassette"):
        recorder.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["no/such/folder.yaml", "."])
def test_path_that_can_hold_no_file_is_refused_before_the_run(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot record to"):
        Recorder(tmp_path / name)


def test_device_is_never_replaced() -> None:
    with pytest.raises(UsageError, match="is no file"):
        Recorder(Path("/dev/null"))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_exchange_in_which_the_run_was_cut_is_a_timeout(recorder: Recorder, backend: str) -> None:
    arrived = threading.Event()

    def hold(peer: Peer) -> None:
        peer.read_request()
        arrived.set()
        peer.wait_until_left()

    async def cut(url: str) -> None:
        client = EgressClient(RunEgress(policy=LOOPBACK, tape=recorder))
        request = Request(method="GET", url=parse_url(url))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: client.fetch(request, Trail(), room_bytes=100))
            await anyio.to_thread.run_sync(arrived.wait)
            tasks.cancel_scope.cancel()

    with FaultServer(hold) as server:
        anyio.run(cut, server.url(), backend=backend)
    assert [each.result for each in recorder.exchanges] == [Failure(code=EgressCode.TIMEOUT, fate=Fate.IN_FLIGHT)]
