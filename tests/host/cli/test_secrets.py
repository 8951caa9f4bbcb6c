"""Secrets on the command line: where values come from, and what is said where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.host.cli.conftest import Keelbox
from tests.servers.fault_server import FaultServer, Peer, response

VALUE = "abcd-EFGH-1234/+"
TOOL = """
tools:
  - name: Weather
    type: script
    entry: tool.js
    access: public
    side_effect: read
    hosts: [api.example.com]
    secrets:
      - { name: WEATHER_KEY, hosts: [api.example.com], header: x-key }
"""
SCRIPT = """import Http from 'system/http';
export const exec = async () => (await Http.getText('https://api.example.com/')).body;
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("KEELBOX_SECRET_WEATHER_KEY", raising=False)
    (tmp_path / "tools.yaml").write_text(TOOL, encoding="utf-8")
    (tmp_path / "tool.js").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def put_secrets(folder: Path, name: str = "secrets.yaml", mode: int = 0o600) -> Path:
    path = folder / name
    path.write_text(f"WEATHER_KEY: {json.dumps(VALUE)}\n", encoding="utf-8")
    path.chmod(mode)
    return path


def echo(peer: Peer) -> None:
    peer.send(response(200, {}, f"key {peer.read_request().headers.get('x-key')}".encode()))


def run_tool(keelbox: Keelbox, project: Path, *options: str | Path) -> tuple[str | None, str]:
    """Run it against a server that echoes: the key that the server saw, and all that was printed."""
    with FaultServer(echo) as server:
        route = f"api.example.com={server.url('')}"
        arguments = ("run", "Weather", "--project", project, "--allow-loopback", "--route", route, *options)
        done = keelbox(*arguments)
    return next((seen.headers.get("x-key") for seen in server.requests), None), f"{done.code}\n{done.out}{done.err}"


def test_value_comes_from_the_environment(keelbox: Keelbox, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEELBOX_SECRET_WEATHER_KEY", VALUE)
    sent, printed = run_tool(keelbox, project)
    assert sent == VALUE
    assert printed.startswith('0\n"key {{secret:WEATHER_KEY}}"\n')
    assert "with secret WEATHER_KEY" in printed
    assert VALUE not in printed


def test_value_comes_from_the_projects_file(keelbox: Keelbox, project: Path) -> None:
    put_secrets(project)
    sent, printed = run_tool(keelbox, project)
    assert sent == VALUE
    assert VALUE not in printed


def test_value_comes_from_the_file_that_is_named(keelbox: Keelbox, project: Path) -> None:
    sent, _ = run_tool(keelbox, project, "--secrets", put_secrets(project, "other.yaml"))
    assert sent == VALUE


def test_environment_goes_before_the_file(keelbox: Keelbox, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_secrets(project)
    monkeypatch.setenv("KEELBOX_SECRET_WEATHER_KEY", "another-value")
    assert run_tool(keelbox, project)[0] == "another-value"


def test_missing_value_denies_the_op_and_says_what_to_set(keelbox: Keelbox, project: Path) -> None:
    sent, printed = run_tool(keelbox, project)
    assert sent is None
    assert printed.startswith("1\n")
    assert "set KEELBOX_SECRET_WEATHER_KEY in the environment, or write WEATHER_KEY into secrets.yaml" in printed


def test_file_that_others_can_read_stops_the_run(keelbox: Keelbox, project: Path) -> None:
    path = put_secrets(project, mode=0o644)
    sent, printed = run_tool(keelbox, project)
    assert sent is None
    assert printed.startswith("2\n")
    assert f"chmod 600 {path}" in printed


@pytest.mark.parametrize("value", ["brief", "with a\nline break", "with-a-line-end\n", "größe-ist-egal"])
def test_value_that_cannot_be_used_stops_the_run(
    keelbox: Keelbox, project: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("KEELBOX_SECRET_WEATHER_KEY", value)
    sent, printed = run_tool(keelbox, project)
    assert (sent, printed[:2]) == (None, "2\n")
    assert "the value of secret WEATHER_KEY" in printed
    assert value not in printed


def test_file_that_a_script_could_import_is_refused(keelbox: Keelbox, project: Path) -> None:
    _, printed = run_tool(keelbox, project, "--secrets", put_secrets(project, "secrets.js"))
    assert printed.startswith("2\n")
    assert "must end in .yaml" in printed


def test_secrets_of_a_script_that_declares_none_are_refused(keelbox: Keelbox, tmp_path: Path) -> None:
    (tmp_path / "alone.js").write_text("export const exec = () => 1;\n", encoding="utf-8")
    done = keelbox("run", tmp_path / "alone.js", "--secrets", put_secrets(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert "declares no secrets" in done.err


def test_script_cannot_import_the_secrets(keelbox: Keelbox, project: Path) -> None:
    put_secrets(project)
    (project / "link.js").symlink_to("secrets.yaml")
    for name in ("secrets.yaml", "link.js"):
        (project / "tool.js").write_text(f"import './{name}';\n{SCRIPT}", encoding="utf-8")
        done = keelbox("run", "Weather", "--project", project, "--json")
        assert done.document["code"] == "load-failed"
        assert VALUE not in done.out


def test_recorded_exchange_holds_no_value_and_replays_without_one(
    keelbox: Keelbox, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cassette = project / "cassette.yaml"
    monkeypatch.setenv("KEELBOX_SECRET_WEATHER_KEY", VALUE)
    run_tool(keelbox, project, "--record", cassette)
    assert VALUE not in cassette.read_text("utf-8")
    monkeypatch.delenv("KEELBOX_SECRET_WEATHER_KEY")
    done = keelbox("run", "Weather", "--project", project, "--replay", cassette)
    assert (done.code, done.out) == (0, '"key {{secret:WEATHER_KEY}}"\n')


def test_operators_section_holds_for_a_run(keelbox: Keelbox, project: Path) -> None:
    (project / "limits.yaml").write_text("egress:\n  deny: [api.example.com]\n", encoding="utf-8")
    done = keelbox("run", "Weather", "--project", project, "--json")
    (op,) = done.document["certificate"]["ops"]
    assert op["code"] == "denied"
    assert op["detail"] == "https://api.example.com is denied by 'api.example.com' in egress.deny (limits.yaml:2)"


def test_check_hints_at_a_secret_without_a_value(keelbox: Keelbox, project: Path) -> None:
    done = keelbox("check", project)
    assert (done.code, done.err) == (0, "1 script, 0 errors, 1 hint\n")
    assert done.out == (
        f"{project}/tools.yaml:10:1: hint: secret WEATHER_KEY of 'Weather' has no value here: "
        "requests that need it are denied\n    set KEELBOX_SECRET_WEATHER_KEY, or write WEATHER_KEY into secrets.yaml\n"
    )
    put_secrets(project)
    assert keelbox("check", project).out == ""


@pytest.mark.parametrize(
    ("egress", "code"),
    [("", "denied"), ("egress: {allow: [other.example.com]}\n", "denied"), ("egress: {allow: ['*']}\n", "dns-failed")],
)
def test_keen_tools_reach_the_hosts_of_the_operator(
    keelbox: Keelbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, egress: str, code: str
) -> None:
    async def no_names(*_: object, **__: object) -> None:
        raise OSError("no names in this test")

    monkeypatch.setattr("anyio.getaddrinfo", no_names)
    tool = {"name": "W", "type": "script", "entry": "tool.js"}
    (tmp_path / "keen-tools.json").write_text(json.dumps({"tools": [tool]}), encoding="utf-8")
    (tmp_path / "tool.js").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "limits.yaml").write_text(egress, encoding="utf-8")
    document = keelbox("run", "W", "--project", tmp_path, "--json").document
    assert document["certificate"]["ops"][0]["code"] == code
