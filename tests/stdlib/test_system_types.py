"""`system.d.ts` declares what the guest has, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from keelbox.egress.faults import EgressCode

STDLIB = Path(__file__).parents[2] / "stdlib" / "js"
TYPES = (STDLIB / "system.d.ts").read_text(encoding="utf-8")
SCRIPTS = Path(__file__).parent / "web"
NODE = shutil.which("node")
MODULES = ("http", "agent", "log", "tools")
CLASSES = {
    "URL": "url",
    "URLSearchParams": "search-params",
    "TextEncoder": "text-codec",
    "TextDecoder": "text-codec",
    "AbortSignal": "abort",
    "AbortController": "abort",
}
GUEST_CODES = {"request-too-large", "too-many-requests", "buffer-busy", "ended"}
"""Codes of `HttpError` that the guest gives by itself (op.js)."""


def block(head: str) -> str:
    """The text between the braces of a top-level declaration, without comments."""
    found = re.search(rf"^{re.escape(head)} \{{\n(.*?)^\}}", TYPES, re.DOTALL | re.MULTILINE)
    assert found is not None, head
    return re.sub(r"/\*\*.*?\*/", "", found[1], flags=re.DOTALL)


def declared_exports(module: str) -> set[str]:
    text = block(f"declare module 'system/{module}'")
    return set(re.findall(r"^  export (?:function|class) (\w+)", text, re.MULTILINE))


@pytest.mark.parametrize("module", MODULES)
def test_module_exports_are_declared(module: str) -> None:
    source = (STDLIB / "system" / f"{module}.js").read_text(encoding="utf-8")
    assert declared_exports(module) == set(re.findall(r"^export (?:const|class) (\w+)", source, re.MULTILINE))


@pytest.mark.parametrize("module", MODULES)
def test_default_export_has_every_named_one(module: str) -> None:
    text = block(f"declare module 'system/{module}'")
    assert set(re.findall(r"^    readonly (\w+): typeof \1;", text, re.MULTILINE)) == declared_exports(module)


def test_http_error_codes_are_all_listed() -> None:
    text = block("declare module 'system/http'")
    found = re.search(r"type HttpErrorCode =(.*?);", text, re.DOTALL)
    assert found is not None
    assert set(re.findall(r"'([a-z-]+)'", found[1])) == {code.value for code in EgressCode} | GUEST_CODES


def declared_members(name: str) -> set[str]:
    text = block(f"declare class {name}")
    return set(re.findall(r"^  (?:readonly )?(\w+|\[Symbol\.iterator\])[<(:?]", text, re.MULTILINE))


@pytest.mark.skipif(NODE is None, reason="node is not on the PATH")
@pytest.mark.parametrize("name", CLASSES)
def test_class_members_are_declared(name: str) -> None:
    assert NODE is not None
    command = [NODE, str(SCRIPTS / "members.mjs"), str(STDLIB / "web" / f"{CLASSES[name]}.js"), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=True)
    actual = json.loads(done.stdout)
    statics = set(re.findall(r"^  static (\w+)\(", block(f"declare class {name}"), re.MULTILINE))
    assert (declared_members(name) | {"constructor"}, statics) == (set(actual["members"]), set(actual["statics"]))


def test_nothing_with_reach_is_declared() -> None:
    declared = set(re.findall(r"^declare (?:const|let|var|class|function) (\w+)", TYPES, re.MULTILINE))
    assert declared == set(CLASSES) | {
        *("toolOptions", "flowContext", "dictionary", "session"),
        *("btoa", "atob", "structuredClone", "queueMicrotask", "DOMException"),
    }
