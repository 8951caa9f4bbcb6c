"""``keelbox run --record`` and ``--replay``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.host.cli.conftest import Done, Keelbox
from tests.servers.fault_server import FaultServer, Peer

from keelbox.egress.cassette import Failure
from keelbox.egress.cassette_file import read_cassette
from keelbox.egress.faults import EgressCode
from keelbox.outcome import Fate

Write = Callable[..., Path]

ROOT = Path(__file__).parents[3]
HOST = "api.example.com"
ASK = f"const ask = async (path) => (await Http.get('https://{HOST}' + path)).body;"


def echo(peer: Peer) -> None:
    seen = peer.read_request()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(seen.target), seen.target.encode()))


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    return tmp_path / "c.yaml"


@pytest.fixture
def record(keelbox: Keelbox, cassette: Path) -> Callable[..., Done]:
    """Runs a script against a server that answers with the path, and records it."""

    def run(path: Path, *more: str | Path) -> Done:
        with FaultServer(echo) as server:
            local = ("--allow-loopback", "--route", f"{HOST}={server.url('')}")
            return keelbox("run", path, "--allow-host", HOST, *local, "--record", cassette, *more)

    return run


@pytest.fixture
def replay(keelbox: Keelbox, cassette: Path) -> Callable[..., Done]:
    """Runs a script from the recorded cassette."""

    def run(path: Path, *more: str | Path) -> Done:
        return keelbox("run", path, "--allow-host", HOST, "--replay", cassette, *more)

    return run


def test_recorded_run_is_replayed_with_no_server(
    record: Callable[..., Done], replay: Callable[..., Done], script: Write
) -> None:
    path = script(f"{ASK} answer('A'); return [await ask('/1'), await ask('/2?x=1')];")
    recorded, replayed = record(path), replay(path)
    assert (recorded.code, json.loads(recorded.out)) == (0, ["/1", "/2?x=1"])
    assert (replayed.code, replayed.out) == (0, recorded.out)
    assert "certificate committed" in replayed.err


def test_person_is_told_what_is_recorded_and_replayed(
    record: Callable[..., Done], replay: Callable[..., Done], script: Write, cassette: Path
) -> None:
    path = script(f"{ASK} return await ask('/1');")
    assert f"note: recorded 1 exchange in {cassette}\n" in record(path).err
    shown = replay(path).err
    assert f"note: replaying {cassette}: no request is sent" in shown
    assert f"1: replayed from {cassette}:" in shown


def test_other_request_fails_the_run_whatever_the_script_does(
    record: Callable[..., Done], replay: Callable[..., Done], script: Write
) -> None:
    """A script that takes any failed request for an answer must not turn a mismatch into a success."""
    record(script(f"{ASK} return await ask('/1');"))
    path = script(f"{ASK} try {{ await ask('/2'); }} catch {{ }} answer('hidden'); return 1;")
    done = replay(path, "--json")
    assert (done.code, done.document["code"], done.document["messages"]) == (1, "host-error", [])
    assert done.document["message"].endswith(f":\n- GET https://{HOST}/1\n+ GET https://{HOST}/2")
    assert done.document["certificate"]["effects"] == "none"


def test_difference_is_shown_to_a_person(
    record: Callable[..., Done], replay: Callable[..., Done], script: Write
) -> None:
    record(script(f"{ASK} return await ask('/1?a=1&b=2');"))
    done = replay(script(f"{ASK} return await ask('/1?a=1&b=3');"))
    assert done.code == 1
    assert "  │   GET https://api.example.com/1\n  │     ?a=1\n  │ -   &b=2\n  │ +   &b=3\n" in done.err
    assert "hint: if the script is right, record again with --record, or edit the cassette" in done.err
    assert "Traceback" not in done.err


def test_missing_request_fails_the_run_and_commits_nothing(
    record: Callable[..., Done], replay: Callable[..., Done], script: Write, keelbox: Keelbox, tmp_path: Path
) -> None:
    record(script(f"{ASK} await ask('/1'); await ask('/2'); return 1;"))
    store = ("--store", tmp_path / "store.db", "--session", "s1")
    done = replay(script(f"{ASK} await ask('/1'); answer('A'); session.n = 1; return 1;"), *store, "--json")
    assert (done.code, done.document["code"]) == (1, "host-error")
    assert (
        f"without 1 request that the cassette {tmp_path / 'c.yaml'} holds:\n- GET https://{HOST}/2"
        in done.document["message"]
    )
    assert [write["committed"] for write in done.document["certificate"]["writes"]] == [False]

    reading = script(
        "const { default: Agent } = await import('system/agent');"
        "return [await Agent.getMessages('main', { sessionID: 's1' }), session];"
    )
    assert json.loads(keelbox("run", reading, *store).out) == [[], {}]


def test_request_beyond_the_cassette_fails_the_run(
    record: Callable[..., Done], replay: Callable[..., Done], script: Write
) -> None:
    record(script(f"{ASK} return await ask('/1');"))
    done = replay(script(f"{ASK} await ask('/1'); return await ask('/2');"))
    assert done.code == 1
    assert "which holds 1 and all were used" in done.err


def test_run_that_fails_is_recorded_and_fails_again(
    record: Callable[..., Done], replay: Callable[..., Done], script: Write
) -> None:
    path = script(f"{ASK} await ask('/1'); throw new Error('no good');")
    recorded, replayed = record(path, "--json"), replay(path, "--json")
    facts = [(done.code, done.document["code"], done.document["message"]) for done in (recorded, replayed)]
    assert facts == [(1, "threw", "Error: no good")] * 2


def test_effects_are_those_of_the_recorded_run(
    record: Callable[..., Done], replay: Callable[..., Done], script: Write
) -> None:
    path = script(f"await Http.post('https://{HOST}/p', {{ a: 1 }}); throw new Error('late');")
    assert [done.document["certificate"]["effects"] for done in (record(path, "--json"), replay(path, "--json"))] == [
        "sent",
        "sent",
    ]


def test_replay_never_says_that_something_was_sent(
    record: Callable[..., Done], replay: Callable[..., Done], script: Write
) -> None:
    path = script(f"await Http.post('https://{HOST}/p', 'x'); if (input) throw new Error('late');")
    assert "but requests were sent" in record(path, "--dry-run").err
    assert "dry run, nothing was committed\n" in replay(path, "--dry-run").err
    assert "certificate sent: so it would be with a network" in replay(path, "--input", "1").err


def test_conversation_reads_are_not_recorded(
    record: Callable[..., Done], replay: Callable[..., Done], script: Write, cassette: Path
) -> None:
    path = script(
        f"{ASK} const {{ default: Agent }} = await import('system/agent');"
        "const where = { sessionID: toolOptions.agentNode.flowContext.sessionId };"
        "await Agent.getMessages('main', where); return await ask('/1');"
    )
    assert record(path).code == 0
    assert len(read_cassette(cassette).exchanges) == 1
    assert replay(path).code == 0


def test_script_that_does_not_load_leaves_the_older_recording(
    record: Callable[..., Done], script: Write, cassette: Path
) -> None:
    record(script(f"{ASK} return await ask('/1');"))
    assert record(script("return (;")).code == 1
    assert len(read_cassette(cassette).exchanges) == 1


def test_run_without_requests_records_an_empty_cassette(
    record: Callable[..., Done], replay: Callable[..., Done], script: Write, cassette: Path
) -> None:
    path = script("return 1;")
    assert record(path).code == 0
    assert read_cassette(cassette).exchanges == ()
    assert replay(path).code == 0


def test_rules_of_the_command_line_hold_in_a_replay(
    record: Callable[..., Done], keelbox: Keelbox, script: Write, cassette: Path
) -> None:
    path = script(f"{ASK} try {{ return await ask('/1'); }} catch (error) {{ return error.code; }}")
    record(path)
    done = keelbox("run", path, "--replay", cassette, "--json")
    assert done.document["certificate"]["ops"][0]["code"] == "denied"
    assert done.document["code"] == "host-error", "the cassette's request was not asked for"


def test_limits_hold_in_a_replay(record: Callable[..., Done], replay: Callable[..., Done], script: Write) -> None:
    path = script(f"{ASK} await ask('/1'); try {{ return await ask('/2'); }} catch (error) {{ return error.code; }}")
    record(path, "--limit", "requests_count=1")
    assert json.loads(replay(path, "--limit", "requests_count=1").out) == "too-many-requests"


def test_record_and_replay_exclude_each_other(replay: Callable[..., Done], script: Write, cassette: Path) -> None:
    done = replay(script("return 1;"), "--record", cassette)
    assert done.code == 2
    assert "--record and --replay exclude each other" in done.err


@pytest.mark.parametrize("text", ["cassette: 2\nexchanges: [{}]\n", ": :\n"])
def test_cassette_with_faults_runs_nothing(
    replay: Callable[..., Done], script: Write, cassette: Path, text: str
) -> None:
    cassette.write_text(text, encoding="utf-8")
    done = replay(script("return 1;"), "--json")
    assert (done.code, done.document["code"]) == (2, "config")
    assert done.document["faults"][0]["file"] == str(cassette)


def test_recording_that_cannot_be_written_fails_and_shows_the_run(
    record: Callable[..., Done], script: Write, cassette: Path
) -> None:
    path = script(
        f"for (let i = 0; i < 3; i++) await Http.post('https://{HOST}/', 'x'.repeat(6 * 1024 * 1024)); return 1;"
    )
    done = record(path)
    assert (done.code, json.loads(done.out)) == (1, 1)
    assert "error: cannot record to" in done.err
    assert not cassette.exists()


def test_interrupted_run_is_recorded(script: Write, cassette: Path) -> None:
    arrived = threading.Event()

    def hold(peer: Peer) -> None:
        peer.read_request()
        arrived.set()
        peer.wait_until_left()

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with FaultServer(hold) as server:
        path = script(f"await Http.post('{server.url()}', 'x');")
        command = [sys.executable, "-m", "keelbox", "run", str(path), "--allow-loopback", "--record", str(cassette)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
            assert arrived.wait(30)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()

    assert (process.returncode, b"note: recorded 1 exchange" in err) == (6, True)
    (exchange,) = read_cassette(cassette).exchanges
    assert exchange.result == Failure(code=EgressCode.TIMEOUT, fate=Fate.IN_FLIGHT)


def test_folder_that_does_not_exist_is_told_before_the_run(keelbox: Keelbox, script: Write, tmp_path: Path) -> None:
    done = keelbox("run", script("return 1;"), "--record", tmp_path / "no" / "c.yaml")
    assert (done.code, done.out) == (2, "")
    assert "does not exist" in done.err


def test_options_have_variables(
    record: Callable[..., Done], keelbox: Keelbox, script: Write, monkeypatch: pytest.MonkeyPatch, cassette: Path
) -> None:
    path = script(f"{ASK} return await ask('/1');")
    record(path)
    monkeypatch.setenv("KEELBOX_RUN_REPLAY", str(cassette))
    assert json.loads(keelbox("run", path, "--allow-host", HOST).out) == "/1"


def test_replay_loads_no_http_library() -> None:
    """The command of the README, with nothing loaded that could send a request."""
    program = (
        "import sys; from keelbox.cli import main\n"
        "code = main(['run', 'tools/weather.js', '--context', '{\"city\":\"Sofia\"}',"
        " '--replay', 'tools/cassettes/weather.yaml'])\n"
        "print(code, 'httpcore2' in sys.modules, 'keelbox.egress.wire' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout.splitlines()[-1] == "0 False False", done.stderr
    assert '"temperatureC":25.2' in done.stderr
