"""Hints: what is pointed at, and what is left alone."""

from __future__ import annotations

import pytest
from tests.host.runs import run

from keelbox.checks import find_hints, find_import
from keelbox_sandbox.contract import FailureCode
from keelbox_sandbox.wasm import WasmSandbox
from keelbox_sandbox.wasm.failure import MISSING_HINTS

IMPORTS = """import Http, { getJson, get as load } from 'system/http';
import * as Agent from 'system/agent';
import fs from './fs.js';
"""


def rules(source: str) -> list[str]:
    return [hint.rule for hint in find_hints("tool.js", IMPORTS + source, MISSING_HINTS)]


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("const r = await fetch(url);", "no-fetch"),
        ("new XMLHttpRequest().open();", "no-fetch"),
        ("const x = require('fs');", "no-require"),
        ("console.log(1);", "no-console"),
        ("process?.exit();", "no-process"),
        ("setTimeout(() => 1, 10);", "no-timers"),
        ("setInterval(() => 1, 10);", "no-timers"),
        ("setImmediate(() => 1);", "no-timers"),
        ("return crypto.randomUUID();", "no-crypto"),
        ("Buffer.from('a');", "no-buffer"),
        ("x = `${fetch(url)}`;", "no-fetch"),
    ],
)
def test_foreign_global(source: str, rule: str) -> None:
    assert rules(source) == [rule]


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["fetch", "require", "console", "process", "setTimeout", "crypto", "Buffer"])
async def test_advice_is_the_one_of_a_run(sandbox: WasmSandbox, name: str) -> None:
    (hint,) = find_hints("tool.js", f"export const exec = () => {name}('x');", MISSING_HINTS)
    outcome = await run(sandbox, f"{name}('x');")
    assert (outcome.code, outcome.hint) == (FailureCode.THREW, hint.hint)


@pytest.mark.parametrize(
    "source",
    [
        "// fetch(url)\n'fetch(url)'; `fetch(url)`; /fetch(url)/;",
        "typeof fetch;",
        "api.fetch(url); this.process.run();",
        "const fetch = (url) => Http.getJson(url); fetch(1);",
        "function require(x) { return x; } require('a');",
        "const run = (console) => console.log(1);",
        "const { process } = input; process.run();",
        "const x = { fetch(url) { return url; }, process: 1 };",
        "import { console } from './log.js'; console.log(1);",
    ],
)
def test_own_name_is_left_alone(source: str) -> None:
    assert rules(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "Http.post(url);",
        "getJson(url)",
        "load(url).then((r) => r);",
        "if (x) Http.get(url);",
        "if (x) { y(); } else Agent.getMessages('main', {});",
        "x = 1\nHttp.get(url)\ny()",
        "void Http.get(url);",
        "const r = Http.getJson(url);\nif (!r.ok) return;",
        "let r = load(url)\nuse(r?.body)",
    ],
)
def test_op_that_nobody_waits_for(source: str) -> None:
    assert rules(source) == ["un-awaited"]


@pytest.mark.parametrize(
    "source",
    [
        "await Http.post(url);",
        "return getJson(url);",
        "const r = await load(url); r.ok;",
        "const p = Http.get(url); log(); const r = await p; r.ok; p.ok;",
        "const ask = () => Http.get(url);",
        "const asked = [Http.get(url)];",
        "x.\nHttp.get(url)",
        "await\nHttp.get(url)",
        "fs.get(url);",
        "other.getJson(url);",
        "Agent.setRootAgentPrompt('main', {});",
    ],
)
def test_op_that_somebody_takes_is_left_alone(source: str) -> None:
    assert rules(source) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("await Promise.all([Http.get(a), load(b)]);", ["at-once"]),
        ("await Promise.allSettled(urls.map((url) => Http.get(url)));", ["at-once"]),
        ("await Promise.all([Http.get(a), 1]);", []),
        ("await Promise.all(urls.map((url) => url.trim()));", []),
    ],
)
def test_ops_at_once(source: str, found: list[str]) -> None:
    assert rules(source) == found


def test_hint_says_where_and_what_instead() -> None:
    (hint,) = find_hints("lib/a.js", "\n  fetch(url);", MISSING_HINTS)
    assert (hint.file, hint.line, hint.column) == ("lib/a.js", 2, 3)
    assert hint.message == "fetch does not exist in the sandbox"
    assert "system/http" in hint.hint


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("import x from './c.js';", (1, 15)),
        ("\nimport '../lib/c.js'", (2, 8)),
        ("export * from './/c.js'", (1, 15)),
        ("await import('./c.js')", (1, 14)),
        ("// import './c.js'\nimport './d.js'; const x = './c.js';", None),
    ],
)
def test_import_is_found(source: str, place: tuple[int, int] | None) -> None:
    assert find_import("lib/a.js", source, "lib/c.js") == place


def test_example_tools_have_no_hints(pytestconfig: pytest.Config) -> None:
    sources = sorted((pytestconfig.rootpath / "tools").rglob("*.js"))
    assert sources
    assert [hint for path in sources for hint in find_hints(path.name, path.read_text("utf-8"), MISSING_HINTS)] == []


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["import ", "import a,", "const r=load(u);r.ok;", "Promise.all([load(u),", "fetch((", "x=>"]
)
def test_hostile_text_is_checked_in_linear_time(piece: str) -> None:
    find_hints("tool.js", IMPORTS + piece * (128 * 1024 // len(piece)), MISSING_HINTS)
