"""``keelbox run`` where something is wrong: the exit code, the code in the document, and what a person reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.host.cli.conftest import Keelbox
from tests.servers.fault_server import FaultServer, Peer

from keelbox_sandbox.wasm import engine

Write = Callable[..., Path]

SCHEMA = """
tools:
  - name: Towns
    type: script
    entry: tool.js
    access: public
    side_effect: read
    hosts: []
    input: { type: object, properties: { a: { type: integer }, b: { type: string } }, required: [a, b] }
  - { name: A Flow, type: flow, entry: Main-Start, access: public, side_effect: read, hosts: [] }
"""


@pytest.mark.parametrize(
    ("body", "options", "code", "exit_code"),
    [
        ("throw new Error('no');", (), "threw", 1),
        ("const e = new Error('no'); e.name = 'ToolRefusedError'; throw e;", (), "refused", 1),
        ("return () => 1;", (), "return-not-cloneable", 1),
        ("return 'x'.repeat(2000);", ("--limit", "return_kib=1"), "return-too-large", 5),
        ("for (;;) {}", ("--limit", "cpu_s=0.1"), "cpu-exceeded", 5),
        ("const a = []; for (;;) a.push('x'.repeat(1e5) + a.length);", ("--limit", "heap_mib=4"), None, None),
        ("await new Promise(() => {});", (), "deadlock", 1),
    ],
)
def test_failed_run(
    keelbox: Keelbox, script: Write, body: str, options: tuple[str, ...], code: str | None, exit_code: int | None
) -> None:
    done = keelbox("run", script(body), *options, "--json")
    document = done.document
    assert document["status"] == "failed"
    assert document["certificate"]["effects"] == "none"
    if code is not None:
        assert (document["code"], done.code) == (code, exit_code)
    else:  # out of memory: thrown to the script if it can still catch it
        assert (document["code"], done.code) in [("threw", 1), ("memory-exceeded", 5)]
    assert keelbox("run", script(body), *options).out == ""


def test_script_that_is_cut_while_compiling_tells_what_it_used(keelbox: Keelbox, script: Write) -> None:
    path = script("return 1;", head=f"const all = [{'[1, () => 2], ' * 50_000}];\n")
    limits = ("--limit", "cpu_s=0.003")
    document = keelbox("run", path, *limits, "--json").document
    assert (document["code"], document["certificate"]["ops"]) == ("cpu-exceeded", [])
    assert document["certificate"]["usage"]["cpu_ms"] >= 3
    assert "of 0.003 s" in keelbox("run", path, *limits).err


def silent(peer: Peer) -> None:
    peer.read_request()
    peer.wait_until_left()


def test_time_limit(keelbox: Keelbox, script: Write) -> None:
    with FaultServer(silent) as server:
        done = keelbox("run", script(f"await Http.get('{server.url()}');"), "--allow-loopback", "--limit", "wall_s=0.2")
    assert done.code == 5
    assert "error: time-exceeded" in done.err


def test_unknown_outcome_outweighs_the_limit(keelbox: Keelbox, script: Write) -> None:
    with FaultServer(silent) as server:
        path = script(f"await Http.post('{server.url()}');")
        done = keelbox("run", path, "--allow-loopback", "--limit", "wall_s=0.2", "--json")
    assert (done.code, done.document["code"]) == (6, "time-exceeded")
    assert done.document["certificate"]["effects"] == "unknown"


def test_error_is_quoted_with_a_caret(keelbox: Keelbox, script: Write) -> None:
    done = keelbox("run", script("const data = {};\n\tconst t = data.current.temperature;"))
    lines = done.err.splitlines()
    (at,) = [number for number, line in enumerate(lines) if "const t" in line]
    assert "  --> tool.js:6:12" in lines
    assert lines[at] == "  6 |     const t = data.current.temperature;"
    assert lines[at + 1].index("^") == lines[at].index("data.current")


def test_syntax_error_is_a_failed_run(keelbox: Keelbox, tmp_path: Path) -> None:
    (tmp_path / "broken.js").write_text("export const exec = () => {\n  let = ;\n};\n", encoding="utf-8")
    document = keelbox("run", tmp_path / "broken.js", "--json").document
    assert (document["code"], document["location"]["file"], document["location"]["line"]) == (
        "load-failed",
        "broken.js",
        2,
    )
    assert document["certificate"]["effects"] == "none"
    assert "  2 |   let = ;" in keelbox("run", tmp_path / "broken.js").err


def test_import_through_a_symlink_that_leaves_fails_to_load(keelbox: Keelbox, tmp_path: Path) -> None:
    (tmp_path / "secret.js").write_text("export const x = 1;", encoding="utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.js").symlink_to(tmp_path / "secret.js")
    (tmp_path / "in" / "tool.js").write_text(
        "import { x } from './x.js'; export const exec = () => x;", encoding="utf-8"
    )
    done = keelbox("run", tmp_path / "in" / "tool.js", "--json")
    assert (done.code, done.document["code"]) == (1, "load-failed")
    assert "leaves the folder" in done.document["message"]


def test_rejected_input_names_every_field(keelbox: Keelbox, script: Write, tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(SCHEMA, encoding="utf-8")
    path = script("return 1;")
    done = keelbox("run", path, "--input", '{"a": "x", "b": 1}', "--json")
    assert (done.code, done.document["code"]) == (3, "input-invalid")
    assert [field["path"] for field in done.document["fields"]] == ["/a", "/b"]
    shown = keelbox("run", path, "--context", "words")
    assert (shown.code, shown.out) == (3, "")
    assert "expected JSON" in shown.err


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("run",), "usage", "Missing argument"),
        (("run", "x.js", "--frob"), "usage", "--frob"),
        (("frob",), "usage", "frob"),
        (("run", "absent.js"), "usage", "absent.js"),
        (("run", "tool.js", "--input", "{"), "usage", "--input is not JSON"),
        (("run", "tool.js", "--input", "-", "--context", "-"), "usage", "stdin"),
        (("run", "tool.js", "--ambient", "[1]"), "usage", "--ambient is not a JSON object"),
        (("run", "tool.js", "--limit", "wal_s=1"), "usage", "wal_s"),
        (("run", "tool.js", "--limit", "wall_s=1e9"), "usage", "wall_s"),
        (("run", "tool.js", "--route", "a"), "usage", "HOST=URL"),
        (("run", "tool.js", "--route", "a.example.com=http://127.0.0.1:1"), "usage", "allow_loopback"),
        (("run", "tool.js", "--allow-host", "a/b"), "usage", "a/b"),
        (("run", "Twns", "--project", "p"), "usage", "Twns"),
        (("run", "A Flow", "--project", "p"), "usage", "flow"),
        (("run", "tool.js", "--limits", "bad.yaml"), "config", "heap_mb"),
    ],
)
def test_misuse(
    keelbox: Keelbox,
    script: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: str,
    told: str,
) -> None:
    """Exit code 2; text on stderr for a person, one document on stdout for a program."""
    script("return 1;")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "tools.yaml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "p" / "tool.js").write_text("", encoding="utf-8")
    (tmp_path / "bad.yaml").write_text("defaults: { heap_mb: 1 }\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    shown, done = keelbox(*arguments), keelbox(*arguments, "--json")
    assert (shown.code, shown.out, done.code) == (2, "", 2)
    assert told in shown.err
    assert (done.document["status"], done.document["code"]) == ("failed", code)
    assert told in done.document["message"]


def test_faults_of_a_file_are_listed(keelbox: Keelbox, script: Write, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("defaults:\n  heap_mb: 1\n  wall_s: -1\n", encoding="utf-8")
    done = keelbox("run", script("return 1;"), "--limits", tmp_path / "bad.yaml", "--json")
    assert [(fault["line"], fault["path"]) for fault in done.document["faults"]] == [
        (2, "defaults.heap_mb"),
        (3, "defaults.wall_s"),
    ]


def test_store_that_cannot_be_opened(keelbox: Keelbox, script: Write, tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"this is no database" * 100)
    done = keelbox("run", script("return 1;"), "--store", tmp_path / "store.db", "--json")
    assert (done.code, done.document["code"]) == (1, "host-error")


def test_guest_that_was_not_built(
    keelbox: Keelbox, script: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "guest_path", lambda: tmp_path / "guest.wasm")
    done = keelbox("run", script("return 1;"))
    assert (done.code, done.out) == (2, "")
    assert "error: the guest is not built: guest.wasm is missing\nhint: in a checkout: pip install -e ." in done.err
