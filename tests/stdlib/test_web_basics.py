"""The web basics of the guest against node's own, and against themselves while every built-in is sabotaged (B21)."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "stdlib" / "js" / "web"
SCRIPTS = Path(__file__).parent / "web"
NODE = shutil.which("node")
SUITES = {"url": 1800, "search-params": 70, "codec": 650, "clone": 60, "abort": 25}
"""Suites and the least number of cases that each must run."""

pytestmark = pytest.mark.skipif(NODE is None, reason="node is the oracle of these tests and is not on the PATH")

OPAQUE_PORT = 'foo:/a/b .host = "{}"'
EXPLAINED: dict[str, dict[str, tuple[str, ...]]] = {
    "url": {
        "no IDNA in the guest: the name stays Unicode, the host applies IDNA before it resolves": (
            'new URL("http://É.example/")',
            'new URL("http://日本。jp/")',
            'new URL("http://１２７.０.０.１/")',
            'new URL("http://a\u00adb/")',
            'new URL("http://%C3%89/")',
        ),
        "the standard: '..' as the last segment leaves an empty segment; node 20 drops it": (
            'new URL("foo:/a/../..")',
            'new URL("../..", "foo://h/a/b")',
            'new URL("/..", "foo://h/a/b")',
            'new URL("../..", "foo:/a/b?c")',
            'new URL("/..", "foo:/a/b?c")',
            'foo://u@h:9/a?b .pathname = ".."',
            'foo:/a/b .pathname = ".."',
        ),
        "the standard: only a whole segment is a drive letter; node 20 looks at its first two characters": (
            'new URL("file:///C:x/..")',
        ),
        "the standard: against an opaque path only '#…' resolves; node 20 lets everything with a fragment pass": (
            'new URL("?q#f", "foo:a")',
            'new URL("x?q#f", "foo:a")',
        ),
        "the standard: a port without a host changes nothing; node 20 empties the host": (
            'foo://u@h:9/a?b .host = ":9"',
        ),
        "the standard: an empty host is a host; node 20 ignores it": (
            OPAQUE_PORT.format(""),
            'foo:/a/b .hostname = ""',
        ),
        "the standard: a URL that gets a host may get its port with it; node 20 drops the port": tuple(
            OPAQUE_PORT.format(host) for host in ("x:82", "x:443", "x:80", "[::1]:9", "x:9a")
        ),
    },
    "search-params": {"the standard: null is the text 'null'; node 20 takes it as nothing": ("from null",)},
    "codec": {"node 20 decodes windows-1252 as ISO 8859-1": ("decode every byte as windows-1252",)},
    "clone": {
        "node 20 fails on a cause that leads back to its error": ("clone error that is its own cause",),
        "node 20 recurses and runs out of stack": ("depth costs no stack",),
        "the standard: a detached buffer cannot be transferred; node 20 lets it pass": (
            "transfer of a detached buffer",
        ),
    },
    "abort": {
        "the standard: a handler that is no object is null; node 20 keeps it": ("a handler that is no function",),
        "the standard: all dependent signals are aborted before the first event; node 20 goes one by one": (
            "any follows",
        ),
    },
}
"""Where ours and node's differ on purpose: suite → reason → cases."""


def run_node(script: str, *arguments: str) -> Any:
    assert NODE is not None
    command = [NODE, str(SCRIPTS / script), str(MODULES), *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@functools.cache
def compare(suite: str) -> dict[str, Any]:
    return run_node("compare.mjs", suite)  # type: ignore[no-any-return]


@functools.cache
def facts() -> dict[str, str]:
    return run_node("extras.mjs")  # type: ignore[no-any-return]


def explained(suite: str) -> set[str]:
    return {case for cases in EXPLAINED[suite].values() for case in cases}


@pytest.mark.parametrize("suite", SUITES)
def test_same_as_node(suite: str) -> None:
    differences = compare(suite)["differences"]
    unexplained = {case: found for case, found in differences.items() if case not in explained(suite)}
    assert unexplained == {}


@pytest.mark.parametrize("suite", SUITES)
def test_every_suite_has_its_cases(suite: str) -> None:
    assert compare(suite)["count"] >= SUITES[suite]


@pytest.mark.parametrize("suite", SUITES)
def test_explained_differences_exist(suite: str) -> None:
    assert NODE is not None
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout
    if not version.startswith("v20."):
        pytest.skip(f"the differences are listed for node 20, this is {version.strip()}")
    assert explained(suite) == set(compare(suite)["differences"])


@pytest.mark.parametrize("suite", SUITES)
def test_same_while_built_ins_are_sabotaged(suite: str) -> None:
    result = compare(suite)
    assert result["sabotagedCount"] > 0.9 * result["count"]
    assert result["sabotaged"] == {}


def test_sabotage_breaks_naive_code() -> None:
    result = compare("abort")
    assert result["changeCount"] > 400
    assert result["intact"] == []


def test_patched_promises_change_nothing() -> None:
    assert facts()["an ordinary promise"] == "astray"
    assert facts()["patched promises"] == "fine, caught bad, fine!"


def test_windows_1252_is_the_web_s() -> None:
    undefined = {0x81, 0x8D, 0x8F, 0x90, 0x9D}
    expected = "".join(chr(i) if i in undefined else bytes([i]).decode("cp1252") for i in range(256))
    assert json.loads(facts()["every byte as windows-1252"]) == expected


def test_names_stay_unicode_without_idna() -> None:
    found = compare("url")["differences"]
    hosts = {
        case: json.loads(found[case]["ours"])["host"] for case in explained("url") if case in found and "http" in case
    }
    assert sorted(hosts.values()) == ["a\u00adb", "é", "é.example", "日本。jp", "１２７.０.０.１"]


def test_url_parse_gives_null_for_no_url() -> None:
    assert facts()["URL.parse"] == 'Array(3) {"0": "http://h/x", "1": null, "2": null}'


def test_errors_name_the_value_in_short() -> None:
    assert json.loads(facts()["message of a bad URL"]) == 'Invalid URL: "x y" with base "z"'
    assert int(facts()["message of a long bad URL"]) < 250
    assert "use utf-8, latin1 or utf-16le" in facts()["message of a bad label"]


@pytest.mark.parametrize("name", ["URL", "URLSearchParams", "AbortSignal"])
def test_clone_refuses_what_would_come_out_empty(name: str) -> None:
    assert json.loads(facts()[f"clone of {name}"]) == f"An instance of {name} could not be cloned."


def test_clone_of_a_dom_exception_keeps_name_and_message() -> None:
    assert facts()["clone of a DOMException"] == 'DOMException AbortError 20 "m"'


def test_host_aborts_a_signal_once() -> None:
    assert facts()["abort from the host"] == 'Array(2) {"0": true, "1": Array(1) {"0": "silent"}}'


def test_signals_have_no_timer() -> None:
    assert facts()["AbortSignal.timeout"] == '"undefined"'


def test_listener_error_is_an_unhandled_rejection() -> None:
    assert facts()["a listener that throws does not stop the next"] == 'Array(1) {"0": "next"}'
    assert facts()["what a listener throws"] == 'Array(1) {"0": "thrown"}'


@pytest.mark.parametrize("path", sorted(MODULES.glob("*.js")), ids=lambda path: path.name)
def test_module_parses(path: Path) -> None:
    assert NODE is not None
    subprocess.run([NODE, "--check", "--input-type=module"], input=path.read_bytes(), check=True)


@pytest.mark.parametrize("path", sorted(MODULES.glob("*.js")), ids=lambda path: path.name)
def test_no_template_substitutions(path: Path) -> None:
    """The guest's engine compiles them to a call of `String.prototype.concat`, which a script can replace."""
    assert "${" not in path.read_text(encoding="utf-8")
