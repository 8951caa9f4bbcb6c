"""Ctrl-C: the run is cancelled, and the certificate is printed all the same."""

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
from tests.servers.fault_server import FaultServer, Peer

Write = Callable[..., Path]


class Holding:
    """A server behaviour that takes a request and never answers it."""

    def __init__(self) -> None:
        self.arrived = threading.Event()

    def __call__(self, peer: Peer) -> None:
        peer.read_request()
        self.arrived.set()
        peer.wait_until_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("method", "effects", "code"), [("get", "none", 130), ("post", "unknown", 6)])
def test_signal_ends_in_a_certificate(
    script: Write, number: signal.Signals, method: str, effects: str, code: int
) -> None:
    holding = Holding()
    with FaultServer(holding) as server:
        path = script(f"Log.info('up'); answer('half'); await Http.{method}('{server.url()}');")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", "keelbox", "run", str(path), "--allow-loopback", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
            assert holding.arrived.wait(30)
            process.send_signal(number)
            out, err = process.communicate()

    assert (process.returncode, err) == (code, b"")
    document = json.loads(out)
    assert (document["code"], document["certificate"]["effects"]) == ("cancelled", effects)
    assert [op["fate"] for op in document["certificate"]["ops"]] == ["in-flight"]
    assert [write["committed"] for write in document["certificate"]["writes"]] == [False]
    assert document["logs"] == [{"level": "info", "text": "up"}]
    assert document["messages"] == []


def test_spinning_script_is_stopped_too(script: Write) -> None:
    """The guest is deep in its own code, not waiting for the host."""
    path = script(
        "Log.info('up'); await (await import('system/agent')).default.getLastReply('main', { sessionID:\n"
        "    toolOptions.agentNode.flowContext.sessionId }); for (;;) {}"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "keelbox", "run", str(path), "--session", "s"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"info")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert b"error: cancelled" in err
    assert b"certificate none" in err
