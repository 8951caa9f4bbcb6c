"""``keelbox run``: what goes in, and what comes out on a clean return."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.host.cli.conftest import Keelbox
from tests.servers.fault_server import FaultServer

from keelbox.outcome import RunOutcome
from keelbox.runner import run_script

Write = Callable[..., Path]

REGISTRY = """
tools:
  - name: Town Square
    type: script
    entry: tool.js
    access: public
    side_effect: read
    hosts: [town.example.com]
    limits: { wall_s: 7 }
    input:
      type: object
      properties: { city: { type: string }, days: { type: integer } }
      required: [city]
      additionalProperties: false
"""

SEE = "return { input, context: toolOptions.toolContext.options.context, tool: toolOptions.toolContext.options.tool };"


def test_stdout_is_the_result_and_nothing_else(keelbox: Keelbox, script: Write) -> None:
    done = keelbox("run", script("Log.info('looking'); answer('Overcast.'); return { done: true, city: 'София' };"))
    assert (done.code, json.loads(done.out)) == (0, {"done": True, "city": "София"})
    for part in ("info      looking", "message to main", "│ Overcast.", "certificate committed", "1 committed, 9 B"):
        assert part in done.err


def test_document_has_the_promised_shape(keelbox: Keelbox, script: Write) -> None:
    with FaultServer(lambda peer: peer.answer(body=b"{}")) as server:
        path = script(f"Log.warning('w'); await Http.post('{server.url('/p')}', 'ab'); answer('A'); return 1;")
        done = keelbox("run", path, "--allow-loopback", "--session", "s1", "--agent", "helper", "--json")

    document = done.document
    certificate = document["certificate"]
    assert done.code == 0
    assert document["status"] == "ok"
    assert [document[key] for key in ("code", "message", "hint", "stack", "location")] == [None] * 5
    assert document["result"] == 1
    assert document["logs"] == [{"level": "warning", "text": "w"}]
    assert [message | {"request_id": ""} for message in document["messages"]] == [
        {"agent_id": "helper", "session_id": "s1", "request_id": "", "role": "user", "content": "A"}
    ]
    assert certificate["effects"] == "committed"
    (op,) = certificate["ops"]
    assert op | {"bytes_out": 0, "ms": 0} == {
        "kind": "http",
        "method": "POST",
        "url": server.url("/p"),
        "status": 200,
        "bytes_out": 0,
        "bytes_in": 2,
        "ms": 0,
        "fate": "answered",
        "code": None,
        "detail": None,
    }
    assert [(write["agent_id"], write["bytes"], write["committed"]) for write in certificate["writes"]] == [
        ("helper", 1, True)
    ]
    assert certificate["usage"].keys() >= {"cpu_ms", "wall_ms", "peak_heap_bytes", "buffer_peak_bytes", "requests"}
    assert "wasm" in certificate["walls"]


@pytest.mark.parametrize(
    ("arguments", "seen", "context"),
    [
        ((), None, ""),
        (("--input", "[1]"), [1], "[1]"),
        (("--context", '{"a": 1}'), {"a": 1}, '{"a": 1}'),
        (("--context", "[1]"), [1], "[1]"),
        (("--context", "Sofia, now"), "Sofia, now", "Sofia, now"),
        (("--context", "12"), "12", "12"),
        (("--context", "{broken"), "{broken", "{broken"),
        (("--input", '"x"', "--context", "words"), "x", "words"),
    ],
)
def test_input_of_a_plain_script(
    keelbox: Keelbox, script: Write, arguments: tuple[str, ...], seen: Any, context: str
) -> None:
    done = keelbox("run", script(SEE), *arguments)
    assert json.loads(done.out) == {"input": seen, "context": context, "tool": "tool.js"}


@pytest.mark.parametrize("option", ["--input", "--context"])
def test_dash_reads_stdin(keelbox: Keelbox, script: Write, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO('{"city": "Пловдив"}'.encode())))
    done = keelbox("run", script(SEE), option, "-")
    assert json.loads(done.out)["input"] == {"city": "Пловдив"}


def test_ambient_is_the_second_argument(keelbox: Keelbox, script: Write) -> None:
    done = keelbox("run", script("return ambient;"), "--ambient", '{"userId": "u1"}')
    assert json.loads(done.out) == {"userId": "u1"}


def test_script_beside_its_registry_is_declared(keelbox: Keelbox, script: Write, tmp_path: Path) -> None:
    """The declaration's limits, hosts and schema apply, and stderr says so."""
    (tmp_path / "tools.yaml").write_text(REGISTRY, encoding="utf-8")
    path = script("return [(await Http.getJson('https://town.example.com/')).body, input];")

    with FaultServer(lambda peer: peer.answer(body=b"1")) as server:
        local = ("--allow-loopback", "--route", f"town.example.com={server.url('')}")
        done = keelbox("run", path, "--context", '{"city": "Sofia"}', *local)
        rejected = keelbox("run", path, "--context", '{"town": "Sofia"}', *local)

    assert json.loads(done.out) == [1, {"city": "Sofia"}]
    assert "tools.yaml declares tool.js as 'Town Square'" in done.err
    assert "of 7 s" in done.err
    assert rejected.code == 3


def test_tool_is_found_by_its_name(keelbox: Keelbox, script: Write, tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(REGISTRY, encoding="utf-8")
    script(SEE)
    done = keelbox("run", "Town Square", "--project", tmp_path, "--input", '{"city": "Sofia"}')
    assert json.loads(done.out) == {
        "input": {"city": "Sofia"},
        "context": '{"city":"Sofia"}',
        "tool": "Town Square",
    }


def test_read_tool_posts_nothing(keelbox: Keelbox, script: Write, tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(REGISTRY, encoding="utf-8")
    path = script("try { await Http.post('http://127.0.0.1:1/'); } catch (error) { return error.code; }")
    done = keelbox("run", path, "--context", '{"city":"x"}', "--allow-loopback")
    assert json.loads(done.out) == "denied"


def test_read_tool_posts_to_its_safe_posts_only(keelbox: Keelbox, script: Write, tmp_path: Path) -> None:
    declared = "hosts: [town.example.com]\n    safe_posts: ['https://town.example.com/query']"
    (tmp_path / "tools.yaml").write_text(REGISTRY.replace("hosts: [town.example.com]", declared), encoding="utf-8")
    path = script(
        """
        const found = [(await Http.post('https://town.example.com/query?page=2')).status];
        for (const [method, path] of [['POST', 'admin'], ['DELETE', 'query']])
            try { await Http.request({ method, url: 'https://town.example.com/' + path }); }
            catch (error) { found.push(error.code); }
        return found;
        """
    )
    with FaultServer(lambda peer: peer.answer()) as server:
        local = ("--allow-loopback", "--route", f"town.example.com={server.url('')}")
        done = keelbox("run", path, "--context", '{"city": "x"}', *local)
        assert [request.target for request in server.requests] == ["/query?page=2"]
    assert json.loads(done.out) == [200, "denied", "denied"]
    assert "list https://town.example.com/admin under safe_posts" in done.err


def test_store_keeps_messages_and_session(keelbox: Keelbox, script: Write, tmp_path: Path) -> None:
    """Two runs of one session on one file: the second reads what the first wrote."""
    path = script(
        """
        const where = { sessionID: toolOptions.agentNode.flowContext.sessionId };
        const found = await (await import('system/agent')).default.getMessages('main', where);
        session.runs = (session.runs ?? 0) + 1;
        answer('again');
        return [found.map((message) => message.content), session.runs];
        """
    )
    store = ("--store", tmp_path / "kept" / "store.db", "--session", "s1")
    assert json.loads(keelbox("run", path, *store).out) == [[], 1]
    assert json.loads(keelbox("run", path, *store).out) == [["again"], 2]
    assert json.loads(keelbox("run", path, "--session", "s1").out) == [[], 1]
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["store.db"], "it was not closed"


def test_compiling_is_on_the_run_s_account(keelbox: Keelbox, script: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    async def watched(**arguments: Any) -> RunOutcome:
        calls.append(arguments)
        return await run_script(**arguments)

    monkeypatch.setattr("keelbox.cli.run_once.run_script", watched)
    usage = keelbox("run", script("return 1;"), "--json").document["certificate"]["usage"]
    (call,) = calls
    assert 0 < call["script"].compile_cpu_s == call["used"].cpu_s <= usage["cpu_ms"] / 1000 + 1e-6
    assert 0 < call["used"].wall_s <= usage["wall_ms"] / 1000 + 1e-6


def test_dry_run_shows_a_diff_and_keeps_nothing(keelbox: Keelbox, script: Write, tmp_path: Path) -> None:
    path = script("answer('one\\ntwo'); return 1;")
    store = ("--store", tmp_path / "store.db", "--session", "s1")
    shown = keelbox("run", path, "--dry-run", *store)
    document = keelbox("run", path, "--dry-run", "--json", *store).document

    assert shown.code == 0
    for part in ("--- conversation of main, session s1", "\n  + one\n  + two\n", "certificate none: dry run"):
        assert part in shown.err
    assert (document["messages"], document["dry_run"]) == ([], True)
    assert [message["content"] for message in document["would_write"]] == ["one\ntwo"]
    reading = script(
        "return (await (await import('system/agent')).default.getMessages('main', { sessionID: 's1' })).length;"
    )
    assert json.loads(keelbox("run", reading, *store).out) == 0


def test_every_option_has_a_variable(keelbox: Keelbox, script: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer(lambda peer: peer.answer(body=b'"here"')) as server:
        monkeypatch.setenv("KEELBOX_RUN_ALLOW_LOOPBACK", "1")
        monkeypatch.setenv("KEELBOX_RUN_ALLOW_HOST", "a.example.com b.example.com")
        monkeypatch.setenv("KEELBOX_RUN_ROUTE", f"b.example.com={server.url('')}")
        monkeypatch.setenv("KEELBOX_RUN_LIMIT", "wall_s=3 cpu_s=2")
        monkeypatch.setenv("KEELBOX_RUN_CONTEXT", "words")
        monkeypatch.setenv("KEELBOX_RUN_JSON", "true")
        done = keelbox("run", script("return [(await Http.getJson('https://b.example.com/x')).body, input];"))
    assert done.document["result"] == ["here", "words"]
    assert server.requests[0].headers["host"] == "b.example.com"


def test_environment_does_not_open_the_wall_unseen(
    keelbox: Keelbox, script: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = script("return 1;")
    monkeypatch.setenv("KEELBOX_RUN_ALLOW_HOST", "a.example.com b.example.com")
    monkeypatch.setenv("KEELBOX_RUN_ALLOW_LOOPBACK", "1")
    monkeypatch.setenv("KEELBOX_RUN_ROUTE", "a.example.com=http://127.0.0.1:1")
    notes = [line for line in keelbox("run", path, "--json").err.splitlines() if line.startswith("note: ")]
    variables = "KEELBOX_RUN_ALLOW_HOST, KEELBOX_RUN_ALLOW_LOOPBACK, KEELBOX_RUN_ROUTE"
    assert notes == [f"note: set by the environment: {variables}"]


def test_what_opens_nothing_is_not_told(keelbox: Keelbox, script: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEELBOX_RUN_ALLOW_LOOPBACK", "0")
    monkeypatch.setenv("KEELBOX_RUN_ALLOW_HOST", "a.example.com")
    assert "note:" not in keelbox("run", script("return 1;"), "--allow-host", "b.example.com").err


def test_host_must_be_allowed(keelbox: Keelbox, script: Write) -> None:
    path = script("try { await Http.get('https://api.example.com/'); } catch (error) { return error.code; }")
    assert json.loads(keelbox("run", path).out) == "denied"


def test_limits_file_and_option_hold(keelbox: Keelbox, script: Write, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("defaults: { requests_count: 3, wall_s: 9 }\n", encoding="utf-8")
    done = keelbox("run", script("return 1;"), "--limits", tmp_path / "mine.yaml", "--limit", "wall_s=8")
    assert "of 8 s" in done.err
    assert "requests 0 of 3" in done.err


def test_module_is_a_program(script: Write) -> None:
    import subprocess

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "keelbox", "run", str(script("return 1;"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
