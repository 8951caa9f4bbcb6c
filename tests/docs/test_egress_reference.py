"""limits.yaml, the dataclass and docs/reference/egress.md say the same of the operator's ``egress`` section."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from keelbox.egress.faults import REDIRECTS_COUNT
from keelbox.egress.headers import HEADERS_BYTES, HEADERS_COUNT
from keelbox.egress.operator import OperatorEgress
from keelbox.egress.rates import WINDOW_S
from keelbox.limits import load_limits
from keelbox.limits_egress import EGRESS_FACTS, EgressFact
from keelbox.yaml_file import read_yaml_file

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs/reference/egress.md").read_text(encoding="utf-8")
YAML = (TOP / "limits.yaml").read_text(encoding="utf-8").partition("\negress:\n")[2].partition("\n# The operator's")[0]

each_fact = pytest.mark.parametrize("fact", EGRESS_FACTS.values(), ids=list(EGRESS_FACTS))


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def test_file_lists_every_value_with_the_built_in_one() -> None:
    section = read_yaml_file(TOP / "limits.yaml").data["egress"]
    flat = {name: value for name, value in section.items() if not isinstance(value, dict)}
    flat |= {f"max_requests_per_minute.{kind}": count for kind, count in section["max_requests_per_minute"].items()}

    assert flat == {name: fact.default for name, fact in EGRESS_FACTS.items()}


def test_file_loads_as_the_built_in_values() -> None:
    loaded = load_limits(TOP / "limits.yaml").egress
    assert all(getattr(loaded, fact.field) == getattr(OperatorEgress(), fact.field) for fact in EGRESS_FACTS.values())


@each_fact
def test_file_comments_each_value(fact: EgressFact) -> None:
    key = fact.name.rpartition(".")[2]
    before, found, _ = f"\n{YAML}".partition(f"\n{'    ' if '.' in fact.name else '  '}{key}: ")
    lines = re.search(r"(?:\n *#[^\n]*)+$", before)

    assert found
    assert lines is not None
    comment = unwrapped(lines[0].replace("#", ""))
    for text in (fact.means, fact.beyond, fact.not_covered, fact.null or ""):
        assert text in comment


@each_fact
def test_page_tells_all_facts_of_each_value(fact: EgressFact) -> None:
    section = PAGE.partition(f"### `{fact.name}`\n")[2].partition("\n##")[0]

    for line in (f"Default: `{json.dumps(fact.default)}`.", f"Means: {fact.means}.", f"Beyond it: {fact.beyond}."):
        assert f"- {line}\n" in section
    assert f"- Not covered: {fact.not_covered}.\n" in section
    assert f"- `null`: {fact.null}.\n" in f"{section}\n" if fact.null else "- `null` is not allowed." in section
    assert f"| `{fact.name}` | `{json.dumps(fact.default)}` | {fact.means} | {fact.beyond} |" in PAGE


def test_page_has_no_other_value() -> None:
    assert re.findall(r"^### `([\w.]+)`$", PAGE, re.MULTILINE) == list(EGRESS_FACTS)


def test_null_is_told_where_the_loader_takes_it() -> None:
    assert [name for name, fact in EGRESS_FACTS.items() if fact.null is None] == ["deny", "max_concurrent"]


def test_example_on_the_page_loads(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "limits.yaml").write_text(example, encoding="utf-8")

    assert load_limits(tmp_path / "limits.yaml").egress.tool_requests_per_minute_count == 60


def test_numbers_on_the_page_are_those_of_the_code() -> None:
    assert f"at most {HEADERS_COUNT} headers of {HEADERS_BYTES // 1024} KiB" in PAGE
    assert f"at most {REDIRECTS_COUNT}. To another origin" in PAGE
    assert f"within the {WINDOW_S:g} seconds before" in PAGE
