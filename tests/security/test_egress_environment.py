"""E27: nothing in the environment changes where a request goes, what it carries, or whom it trusts."""

# ruff: noqa: N802

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.servers.certificates import HOST, ca_file, server_context
from tests.servers.fault_server import FaultServer, Peer
from tests.servers.http_call import call

from keelbox.egress.policy import EgressPolicy

PROXIES = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]

CALL = """
import json, sys
from keelbox.egress.policy import EgressPolicy
from tests.servers.http_call import FakeResolver, call
url, host, port = sys.argv[1:]
policy = EgressPolicy(hosts=[f"{host}:{port}"], allow_loopback=True)
called = call(url, policy=policy, resolver=FakeResolver(["127.0.0.1"]))
print(json.dumps([called.code, called.fate]))
"""

LAZY = """
import sys
import keelbox.ops.http
from keelbox.egress.policy import EgressPolicy
late = {"httpcore2", "h11", "ssl", "truststore", "idna", "asyncio"}
assert not late & set(sys.modules), late & set(sys.modules)
from tests.servers.http_call import call
call("https://denied.example/", policy=EgressPolicy(hosts=["a.com"]))
call("not a url")
late = {"httpcore2", "h11", "truststore", "idna"}
assert not late & set(sys.modules), late & set(sys.modules)
"""


def run_python(code: str, *arguments: str, env: dict[str, str] | None = None) -> str:
    """Run code in a process of its own, with the same import path."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def honest(peer: Peer) -> None:
    peer.answer()


def test_E27_proxy_variables_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer(honest) as canary, FaultServer(honest) as server:
        for name in PROXIES:
            monkeypatch.setenv(name, canary.url())
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert call(server.url()).status == 200
        assert canary.connections_count == 0


def test_E27_netrc_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login user password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    with FaultServer(honest) as server:
        call(server.url())
        assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_E27_trust_variables_are_ignored(name: str) -> None:
    trusted = ca_file() if name != "SSL_CERT_DIR" else hashed_folder(ca_file())
    with FaultServer(honest, tls=server_context()) as server:
        printed = run_python(CALL, server.url(host=HOST), HOST, str(server.port), env={name: str(trusted)})
        assert server.requests == []
    assert json.loads(printed) == ["tls-failed", "not-sent"]


def test_E27_key_log_variable_is_ignored(tmp_path: Path) -> None:
    log = tmp_path / "keys.log"
    with FaultServer(honest, tls=server_context()) as server:
        run_python(CALL, server.url(host=HOST), HOST, str(server.port), env={"SSLKEYLOGFILE": str(log)})
        assert server.connections_count == 1
    assert not log.exists()


def test_E27_loopback_cannot_be_allowed_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KEELBOX_ALLOW_LOOPBACK", "ALLOW_LOOPBACK", "KEELBOX_ALLOW_HOST"):
        monkeypatch.setenv(name, "1")
    with FaultServer(honest) as server:
        assert call(server.url(), policy=EgressPolicy(schemes=("http",))).code == "denied"
        assert server.connections_count == 0


def test_refused_requests_never_import_the_http_library() -> None:
    run_python(LAZY)


def hashed_folder(certificate: Path) -> Path:
    """A folder in which OpenSSL finds a certificate by its subject's hash."""
    folder = certificate.parent / "hashed"
    folder.mkdir(exist_ok=True)
    (folder / certificate.name).write_bytes(certificate.read_bytes())
    subprocess.run(["openssl", "rehash", str(folder)], check=True)
    return folder
