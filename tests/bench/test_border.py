"""``python -m bench.border``: that it measures something of each kind. No figure is held against a bound here."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.border.contenders import CONTENDERS

ROOT = Path(__file__).parents[2]

MAY_BE_NEGATIVE = ("left_mb", "page_table_mb")
"""Differences of two readings between which nothing need have grown."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What one quick run printed, and its JSON document."""
    path = tmp_path_factory.mktemp("border") / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "bench.border", "--quick", "--json", str(path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def document(report: tuple[str, str]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(report[1])
    return value


def rows(document: dict[str, Any], *keys: str) -> Iterator[dict[str, Any]]:
    """All rows of these sections, or of all."""
    for section in document["sections"]:
        if section["key"] in keys or not keys:
            yield from section["rows"]


@pytest.mark.slow
def test_each_kind_of_figure_is_there(document: dict[str, Any]) -> None:
    keys = [section["key"] for section in document["sections"]]
    assert keys == ["fresh", "below", "throughput", "suspended", "compute", "processes"]
    assert [row["name"] for row in rows(document, "fresh")] == [contender.title for contender in CONTENDERS.values()]
    assert {row["name"] for row in rows(document, "compute")} == {"fib", "json", "regex", "sort", "string"}


@pytest.mark.slow
def test_each_row_has_figures_or_says_why_not(document: dict[str, Any]) -> None:
    for row in rows(document):
        assert any(value is not None for value in row["figures"].values()) or row["note"] == "not installed", row


@pytest.mark.slow
def test_figures_are_positive(document: dict[str, Any]) -> None:
    figures = [item for row in rows(document) for item in row["figures"].items() if item[1] is not None]
    assert len(figures) > 50
    for name, value in figures:
        assert math.isfinite(value) and (value > 0 or name in MAY_BE_NEGATIVE), name


@pytest.mark.slow
def test_our_own_figures_stand_beside_their_targets(document: dict[str, Any]) -> None:
    judged = {row["name"]: [verdict["figure"] for verdict in row["targets"]] for row in rows(document)}
    assert judged["keelbox, no op"] == []
    assert judged["keelbox run, no op, warm cache"] == ["median_s"]
    assert [row["targets"] != [] for row in rows(document, "fresh", "throughput", "suspended")].count(True) >= 3


@pytest.mark.slow
def test_report_names_no_path_and_only_these_facts(report: tuple[str, str], document: dict[str, Any]) -> None:
    assert set(document["machine"]) == {"cores_count", "processor", "system", "python", "guest", "versions"}
    for text in report:
        assert str(ROOT) not in text
        assert sys.prefix not in text


@pytest.mark.slow
def test_printed_tables_have_the_figures_of_the_document(report: tuple[str, str], document: dict[str, Any]) -> None:
    lines = report[0].splitlines()
    for row in rows(document, "compute"):
        line = next(line for line in lines if line.split()[:1] == [row["name"]])
        assert f"{row['figures']['guest_ms']:.1f}" in line
