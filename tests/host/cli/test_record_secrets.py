"""A secret is used in a run that is recorded: it is not in the cassette, and the replay needs none."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.host.cli.conftest import Keelbox
from tests.servers.fault_server import FaultServer, Peer, response

VALUE = "k9/Zq+secret value~7"
REGISTRY = """
tools:
  - name: Weather
    type: script
    entry: tool.js
    access: public
    side_effect: write
    idempotency_key: call.id
    hosts: [api.example.com]
    secrets:
      - { name: BY_HOST, hosts: [api.example.com], header: authorization, format: "Bearer {}" }
      - { name: BY_SCRIPT, hosts: [api.example.com], fields: [/login/key] }
"""
SCRIPT = """import Http from 'system/http';
export const exec = async () => {
    const login = { key: '{{secret:BY_SCRIPT}}' };
    const { headers, body } = await Http.postJson('https://api.example.com/x', { login });
    return [headers['x-echo'], body];
};
"""


def echo(peer: Peer) -> None:
    """Give everything back, in several forms."""
    seen = peer.read_request()
    secret = seen.headers["authorization"].removeprefix("Bearer ")
    forms = [secret, base64.b64encode(secret.encode()).decode(), quote(secret)]
    body = json.dumps({"sent": seen.body.decode(), "forms": forms}).encode()
    peer.send(response(200, {"X-Echo": seen.headers["authorization"], "Content-Type": "application/json"}, body))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEELBOX_SECRET_BY_HOST", VALUE)
    monkeypatch.setenv("KEELBOX_SECRET_BY_SCRIPT", VALUE[::-1])
    (tmp_path / "tools.yaml").write_text(REGISTRY, encoding="utf-8")
    (tmp_path / "tool.js").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def test_value_is_in_no_form_in_the_cassette(keelbox: Keelbox, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E21."""
    cassette = project / "c.yaml"
    with FaultServer(echo) as server:
        local = ("--allow-loopback", "--route", f"api.example.com={server.url('')}")
        recorded = keelbox("run", "Weather", "--project", project, *local, "--record", cassette)
        (seen,) = server.requests
    assert (seen.headers["authorization"], json.loads(seen.body)) == (
        f"Bearer {VALUE}",
        {"login": {"key": VALUE[::-1]}},
    )

    text = cassette.read_text(encoding="utf-8")
    for value in (VALUE, VALUE[::-1]):
        for form in (value, base64.b64encode(value.encode()).decode()[:-4], quote(value), quote(value, safe="")):
            assert form not in text + recorded.out + recorded.err
    assert text.count("{{secret:BY_HOST}}") == 4, "in a header and three times in the body of the answer"
    assert text.count("{{secret:BY_SCRIPT}}") == 2, "as the script sent it, and in the echo"

    for name in ("BY_HOST", "BY_SCRIPT"):
        monkeypatch.delenv(f"KEELBOX_SECRET_{name}")
    replayed = keelbox("run", "Weather", "--project", project, "--replay", cassette)
    assert (replayed.code, replayed.out) == (0, recorded.out)


def test_rules_of_secrets_hold_in_a_replay(keelbox: Keelbox, project: Path) -> None:
    """A handle where none may stand is refused before the cassette is asked."""
    (project / "c.yaml").write_text("cassette: 1\nexchanges: []\n", encoding="utf-8")
    source = SCRIPT.replace("login = { key", "login = { other").replace(
        "https://api.example.com/x", "https://api.example.com/y"
    )
    (project / "tool.js").write_text(source, encoding="utf-8")
    done = keelbox("run", "Weather", "--project", project, "--replay", project / "c.yaml", "--json")
    assert [op["code"] for op in done.document["certificate"]["ops"]] == ["request-invalid"]
