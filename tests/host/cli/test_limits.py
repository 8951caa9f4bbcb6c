"""``keelbox limits``: the values, and where each comes from."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from tests.host.cli.conftest import Keelbox

from keelbox_sandbox.contract import Limits

REGISTRY = """
tools:
  - name: Slow One
    type: script
    entry: slow.js
    access: public
    side_effect: read
    hosts: []
    limits: { wall_s: 90, cpu_s: 2 }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tools.yaml").write_text(REGISTRY, encoding="utf-8")
    (tmp_path / "limits.yaml").write_text("defaults:\n  heap_mib: 20\ntools:\n  Slow One:\n    cpu_s: 1\n", "utf-8")
    (tmp_path / "slow.js").write_text("export const exec = () => 1;", encoding="utf-8")
    return tmp_path


def test_built_in_values(keelbox: Keelbox) -> None:
    document = keelbox("limits", "--json").document
    assert {name: each["value"] for name, each in document["limits"].items()} == asdict(Limits())
    assert {each["origin"] for each in document["limits"].values()} == {"built-in default"}


def test_each_value_says_where_it_comes_from(keelbox: Keelbox, project: Path) -> None:
    done = keelbox("limits", "Slow One", "--project", project, "--limit", "log_kib=1", "--json")
    limits = done.document["limits"]
    assert [(limits[name]["value"], limits[name]["origin"]) for name in ("heap_mib", "wall_s", "cpu_s", "log_kib")] == [
        (20, "limits.yaml:2"),
        (90, "tools.yaml limits"),
        (1, "limits.yaml:5 tools.Slow One"),
        (1, "--limit"),
    ]


def test_path_of_a_declared_script_means_the_tool(keelbox: Keelbox, project: Path) -> None:
    by_path = keelbox("limits", project / "slow.js", "--json").document["limits"]
    assert by_path == keelbox("limits", "Slow One", "--project", project, "--json").document["limits"]


def test_project_alone_gives_its_defaults(keelbox: Keelbox, project: Path) -> None:
    limits = keelbox("limits", "--project", project, "--json").document["limits"]
    assert (limits["heap_mib"]["value"], limits["wall_s"]["value"]) == (20, 60)


def test_table_is_data(keelbox: Keelbox, project: Path) -> None:
    done = keelbox("limits", "Slow One", "--project", project)
    assert done.err == ""
    assert "wall_s               90 seconds  tools.yaml limits" in done.out.splitlines()
    assert len(done.out.splitlines()) == len(asdict(Limits()))


def test_file_is_one_to_start_from(keelbox: Keelbox, tmp_path: Path) -> None:
    done = keelbox("limits", "--file")
    assert (done.code, done.err) == (0, "")
    (tmp_path / "mine.yaml").write_text(done.out, encoding="utf-8")
    limits = keelbox("limits", "--limits", tmp_path / "mine.yaml", "--json").document["limits"]
    assert {name: each["value"] for name, each in limits.items()} == asdict(Limits())
    assert all(each["origin"].startswith("mine.yaml:") for each in limits.values())
    assert "# Counted: " in done.out


@pytest.mark.parametrize("more", [("x.js",), ("--json",), ("--limit", "wall_s=1"), ("--project", ".")])
def test_file_takes_nothing_else(keelbox: Keelbox, more: tuple[str, ...]) -> None:
    done = keelbox("limits", "--file", *more)
    assert done.code == 2
    assert "--file prints Keelbox's own file and takes nothing else" in done.err + done.out


def test_limit_above_the_maximum_is_misuse(keelbox: Keelbox) -> None:
    done = keelbox("limits", "--limit", "heap_mib=100000", "--json")
    assert (done.code, done.document["code"]) == (2, "usage")
