"""The bench's arithmetic and its tables."""

from __future__ import annotations

from bench.border.figures import Column, Row, Section, Target, latency, per_run
from bench.border.machine import load_note
from bench.border.table import render


def test_latency_takes_the_nearest_ranks() -> None:
    assert latency([float(i) for i in range(1, 101)]) == {
        "p50_ms": 50.5,
        "p99_ms": 100.0,
        "p99_over_p50": 100.0 / 50.5,
        "runs_count": 100,
    }


def test_one_sample_is_its_own_percentile() -> None:
    assert (latency([7.0])["p50_ms"], latency([7.0])["p99_ms"]) == (7.0, 7.0)


def test_growth_is_in_decimal_megabytes_a_run() -> None:
    assert per_run(1_000_000, 7_000_000, 20) == 0.3


def test_bounds_hold_at_the_bound_itself() -> None:
    most = Target(figure="ms", bound=1.5, text="≤ 1.5")
    least = Target(figure="ms", bound=1.5, at_least=True, text="≥ 1.5")
    assert [most.is_met(value) for value in (1.4, 1.5, 1.6)] == [True, True, False]
    assert [least.is_met(value) for value in (1.4, 1.5, 1.6)] == [False, True, True]


def test_absent_figure_has_no_verdict() -> None:
    target = Target(figure="ms", bound=1, text="≤ 1")
    assert Row(name="a", targets=[target]).verdicts() == []
    assert Row(name="a", figures={"ms": 2.0}, targets=[target]).verdicts() == [
        {"figure": "ms", "target": "≤ 1", "met": False}
    ]


def test_table_aligns_figures_to_the_right() -> None:
    rows = [
        Row(name="a", figures={"ms": 1234.5}, targets=[Target(figure="ms", bound=1, text="≤ 1 ms")]),
        Row(name="longer", note="not installed"),
    ]
    section = Section(key="k", title="Title", columns=[Column(key="ms", head="ms", digits=1)], rows=rows, note="Note.")
    assert render(section).splitlines() == [
        "Title",
        "               ms  target",
        "  a       1,234.5  ≤ 1 ms: MISSED",
        "  longer        –                  not installed",
        "  Note.",
    ]


def test_busy_machine_is_noted() -> None:
    assert load_note(1.0) == load_note(None) == ""
    assert "1.25" in load_note(1.25)
