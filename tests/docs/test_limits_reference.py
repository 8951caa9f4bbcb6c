"""limits.yaml, the dataclass, the built-in maxima and docs/reference/limits.md say the same of every limit."""

from __future__ import annotations

import re
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from keelbox.limit_facts import LimitFact, built_in_maximum
from keelbox.limit_rules import number
from keelbox.limits import LIMIT_FACTS, load_limits
from keelbox.yaml_file import read_yaml_file
from keelbox_sandbox.contract import Limits

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs/reference/limits.md").read_text(encoding="utf-8")
YAML = (TOP / "limits.yaml").read_text(encoding="utf-8")
NAMES = [field.name for field in fields(Limits)]

each_fact = pytest.mark.parametrize("fact", LIMIT_FACTS.values(), ids=list(LIMIT_FACTS))


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def test_facts_are_those_of_the_dataclass() -> None:
    assert list(LIMIT_FACTS) == NAMES
    assert {name: fact.default for name, fact in LIMIT_FACTS.items()} == asdict(Limits())


def test_file_lists_every_limit_with_built_in_values() -> None:
    data = read_yaml_file(TOP / "limits.yaml").data
    data.pop("egress")  # test_egress_reference.py

    assert data == {"defaults": asdict(Limits()), "maximum": asdict(built_in_maximum()), "tools": {}}
    assert list(data["defaults"]) == list(data["maximum"]) == NAMES


def test_file_loads_as_the_built_in_values() -> None:
    file, built_in = load_limits(TOP / "limits.yaml"), load_limits(None)

    assert (file.defaults, file.maximum, file.tools) == (built_in.defaults, built_in.maximum, built_in.tools)


def test_example_in_the_file_loads(tmp_path: Path) -> None:
    lines = YAML[YAML.index("#   tools:") :].splitlines()
    example = "\n".join(line.removeprefix("#   ") for line in lines if line.startswith("#   "))
    (tmp_path / "limits.yaml").write_text(example, encoding="utf-8")

    assert list(load_limits(tmp_path / "limits.yaml").tools) == ["Current Weather"]


def test_example_on_the_page_loads(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "limits.yaml").write_text(example, encoding="utf-8")

    assert load_limits(tmp_path / "limits.yaml").maximum.wall_s == 120


@each_fact
def test_file_comments_each_limit(fact: LimitFact) -> None:
    before, _, _ = YAML.partition(f"\n  {fact.name}: ")
    comment = unwrapped(before.rpartition("\n\n" if "\n\n  #" in before else "defaults:")[2].replace("#", ""))

    for text in (fact.counted, fact.scope, fact.beyond, fact.not_covered):
        assert text in comment


@each_fact
def test_page_tabulates_each_limit(fact: LimitFact) -> None:
    row = f"| `{fact.name}` | {number(fact.default)} | {number(fact.maximum)} | {fact.counted} | {fact.beyond} |"

    assert row in PAGE


@each_fact
def test_page_tells_six_facts_of_each_limit(fact: LimitFact) -> None:
    section = unwrapped(PAGE.partition(f"### `{fact.name}`\n")[2].partition("###")[0])
    bounds = f"at least {number(fact.minimum)}" + (
        f", at most {number(fact.ceiling)}" if fact.ceiling < 2**31 - 1 else ""
    )

    assert re.search(rf"Unit: (MiB|KiB|seconds|a whole number), {re.escape(bounds)}\.", section)
    assert fact.unit == "count" or f"Unit: {fact.unit}," in section
    assert f"Default: {number(fact.default)}." in section
    for label, text in (
        ("Counted", fact.counted),
        ("Scope", fact.scope),
        ("Beyond it", fact.beyond),
        ("Not covered", fact.not_covered),
    ):
        assert f"{label}: {text}." in section


def test_page_has_no_other_limit() -> None:
    assert re.findall(r"^### `(\w+)`$", PAGE, re.MULTILINE) == NAMES
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == NAMES


@each_fact
def test_numbers_of_a_limit_are_in_order(fact: LimitFact) -> None:
    assert 0 < fact.minimum <= fact.default <= fact.maximum <= fact.ceiling
