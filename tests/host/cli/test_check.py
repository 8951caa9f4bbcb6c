"""``keelbox check``: what is an error, what is a hint, and what is neither."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.host.cli.conftest import Keelbox

GOOD = "export const exec = async () => 1;\n"

REGISTRY = """
tools:
  - { name: One, type: script, entry: one.js, access: public, side_effect: read, hosts: [] }
  - { name: Two, type: script, entry: two.js, access: public, side_effect: read, hosts: [] }
  - { name: Flow, type: flow, entry: Main-Start, access: public, side_effect: read, hosts: [] }
"""


def put(folder: Path, **files: str) -> Path:
    """Write files; ``__`` in a name is a folder, and each ends with ``.js``."""
    for name, source in files.items():
        path = folder / f"{name.replace('__', '/')}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return folder


def found(keelbox: Keelbox, path: Path) -> list[tuple[str, str, int, int, str]]:
    findings = keelbox("check", path, "--json").document["findings"]
    return [
        (Path(each["file"]).name, each["severity"], each["line"], each["column"], each["rule"]) for each in findings
    ]


def test_example_project_is_clean(keelbox: Keelbox, pytestconfig: pytest.Config) -> None:
    done = keelbox("check", pytestconfig.rootpath / "tools")
    assert (done.code, done.out, done.err) == (0, "", "3 scripts, 0 errors, 0 hints\n")


def test_good_script(keelbox: Keelbox, tmp_path: Path) -> None:
    document = keelbox("check", put(tmp_path, a=GOOD) / "a.js", "--json").document
    assert (document["status"], document["code"], document["findings"]) == ("ok", None, [])
    assert document["scripts"] == [{"entry": str(tmp_path / "a.js"), "tool": None, "modules": ["a.js"]}]


def test_script_beside_its_registry_is_checked_as_that_tool(keelbox: Keelbox, tmp_path: Path) -> None:
    """As ``keelbox run`` takes it: under the limits that its declaration asks for."""
    small = REGISTRY.replace("entry: one.js", "entry: one.js, limits: { source_kib: 1 }")
    (tmp_path / "tools.yaml").write_text(small, encoding="utf-8")
    put(tmp_path, one=GOOD + "//" + "x" * 1024, two=GOOD + "//" + "x" * 1024)
    documents = [keelbox("check", tmp_path / name, "--json").document for name in ("one.js", "two.js")]
    assert [document["scripts"][0]["tool"] for document in documents] == ["One", "Two"]
    assert [[each["rule"] for each in document["findings"]] for document in documents] == [["load-failed"], []]
    assert keelbox("run", tmp_path / "one.js", "--json").document["code"] == "load-failed"


def test_syntax_error_has_its_place(keelbox: Keelbox, tmp_path: Path) -> None:
    put(tmp_path, a="\nexport const exec = () => { let = ; };\n")
    done = keelbox("check", tmp_path / "a.js")
    assert done.code == 1
    assert done.out.startswith(f"{tmp_path / 'a.js'}:2:")
    assert ": error: SyntaxError" in done.out


def test_missing_exec_is_an_error_in_a_tool(keelbox: Keelbox, tmp_path: Path) -> None:
    put(tmp_path, a="export const exek = 1;")
    assert found(keelbox, tmp_path / "a.js") == [("a.js", "error", 0, 0, "no-exec")]


def test_missing_import_is_told_where_it_is_asked_for(keelbox: Keelbox, tmp_path: Path) -> None:
    put(tmp_path, a="import { b } from './lib/b.js';\n" + GOOD, lib__b="\nexport { c as b } from '../c.js';")
    assert found(keelbox, tmp_path / "a.js") == [("b.js", "error", 2, 24, "load-failed")]


def test_hints_fail_nothing(keelbox: Keelbox, tmp_path: Path) -> None:
    put(
        tmp_path,
        a="import Http from 'system/http';\nexport const exec = async () => {\n  fetch(1);\n  Http.get(2);\n};\n",
    )
    done = keelbox("check", tmp_path / "a.js")
    assert done.code == 0
    assert f"{tmp_path / 'a.js'}:3:3: hint: fetch does not exist in the sandbox" in done.out
    assert f"{tmp_path / 'a.js'}:4:3: hint: nobody waits for Http.get()" in done.out
    assert done.err == "1 script, 0 errors, 2 hints\n"


def test_helpers_need_no_exec(keelbox: Keelbox, tmp_path: Path) -> None:
    """Without a registry, what others import is a helper, and what nobody imports may have been meant as a tool."""
    put(tmp_path, a="import { b } from './lib/b.js';\nexport const exec = () => b;", lib__b="export const b = 1;")
    put(tmp_path, stray="export const c = 1;", node_modules__x="let = ;", **{".hidden__x": "let = ;"})
    assert found(keelbox, tmp_path) == [("stray.js", "hint", 0, 0, "no-exec")]
    assert keelbox("check", tmp_path).code == 0


def test_fault_of_a_shared_helper_is_told_once(keelbox: Keelbox, tmp_path: Path) -> None:
    importing = "import { b } from './b.js';\nexport const exec = () => b;"
    (tmp_path / "tools.yaml").write_text(REGISTRY, encoding="utf-8")
    put(tmp_path, one=importing, two=importing, b="let = ;")
    document = keelbox("check", tmp_path, "--json").document
    assert [Path(each["file"]).name for each in document["findings"]] == ["b.js"]
    assert document["skipped"] == ["Flow"]


def test_entry_that_is_not_there_is_an_error(keelbox: Keelbox, tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(REGISTRY, encoding="utf-8")
    put(tmp_path, one=GOOD)
    assert [each[:2] for each in found(keelbox, tmp_path)] == [("two.js", "error")]


def test_faults_of_the_registry_are_told_with_their_lines(keelbox: Keelbox, tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(REGISTRY.replace("hosts: []", "hosts: [localhost]", 1), encoding="utf-8")
    put(tmp_path, one=GOOD, two=GOOD)
    done = keelbox("check", tmp_path, "--json")
    assert (done.code, done.document["code"]) == (2, "config")
    assert [fault["line"] for fault in done.document["faults"]] == [3]


def test_present_folder_is_the_default(keelbox: Keelbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(put(tmp_path, a=GOOD))
    assert keelbox("check", "--json").document["scripts"][0]["entry"] == "a.js"


@pytest.mark.parametrize("name", ["", "absent.js"])
def test_nothing_to_check_is_misuse(keelbox: Keelbox, tmp_path: Path, name: str) -> None:
    done = keelbox("check", tmp_path / name, "--json")
    assert (done.code, done.document["code"]) == (2, "usage")


def test_endless_top_level_is_never_run(keelbox: Keelbox, tmp_path: Path) -> None:
    put(tmp_path, a="for (;;) {}\nexport const exec = 1;")
    assert keelbox("check", tmp_path / "a.js").code == 0
