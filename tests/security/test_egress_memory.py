"""E29, E33: a bomb or a flood costs the host its exchange buffer and little more."""

# ruff: noqa: N802

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import pytest
from tests.servers.fault_server import Behaviour, FaultServer, Peer, head, response

ROOM_MIB = 10
ALLOWED_MIB = ROOM_MIB + 2

MEASURE = """
import sys
from pathlib import Path
from tests.servers.http_call import call
from keelbox.egress.secrets import RunSecrets
from keelbox.egress.secrets_rule import SecretRule

def peak_mib():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

url, room_mib = sys.argv[1], int(sys.argv[2])
host = url.removeprefix("http://").removesuffix("/")
rule = SecretRule(name="KEY", hosts=(host,), header="authorization")
secrets = RunSecrets([rule] if "with" in sys.argv else [], {"KEY": "xxxxxxxy"} if "with" in sys.argv else {})
call(url + "small", secrets=secrets)
before = peak_mib()
called = call(url, room_bytes=room_mib * 1024 * 1024, secrets=secrets)
print(called.code, peak_mib() - before)
"""


def bomb(peer: Peer) -> None:
    peer.send(response(200, {"Content-Encoding": "gzip"}, gzip.compress(bytes(200 * 1024 * 1024), compresslevel=1)))


def flood(peer: Peer) -> None:
    peer.send(head(200))
    while True:
        peer.send(b"x" * 65536)


def exact(peer: Peer) -> None:
    peer.send(response(200, {}, b"x" * (ROOM_MIB * 1024 * 1024)))


def echoes(peer: Peer) -> None:
    peer.send(response(200, {}, b"xxxxxxxy" * (ROOM_MIB * 1024 * 128)))


@pytest.mark.parametrize("secret", ["without", "with"])
@pytest.mark.parametrize(
    ("behave", "code"), [(bomb, "response-too-large"), (flood, "response-too-large"), (exact, "None"), (echoes, None)]
)
def test_E29_E33_memory_grows_by_the_buffer_only(behave: Behaviour, code: str | None, secret: str) -> None:
    def serve(peer: Peer) -> None:
        if peer.read_request().target == "/small":
            peer.send(response(200, {}, b"x" * 1000))
        else:
            behave(peer)

    with FaultServer(serve) as server:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, server.url(), str(ROOM_MIB), secret],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
    seen_code, grown_mib = done.stdout.split()
    assert seen_code == (code or {"without": "None", "with": "response-too-large"}[secret])
    assert float(grown_mib) <= ALLOWED_MIB
