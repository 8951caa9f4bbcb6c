"""Fresh runs through the contract, one after the other and many at once, suspended ones, and the peers beside us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .children import Child, Field
from .contenders import CONTENDERS
from .figures import Column, Row, Section, Target, latency, per_run

__all__ = ["fresh", "suspended", "throughput"]

US = "keelbox"

LATENCY_COLUMNS = (
    Column(key="p50_ms", head="p50 ms", digits=3),
    Column(key="p99_ms", head="p99 ms", digits=3),
    Column(key="p99_over_p50", head="p99/p50", digits=2),
    Column(key="runs_count", head="runs"),
    Column(key="ratio", head="ours/it", digits=3),
)
ONE_OP_TARGETS = (
    Target(figure="p50_ms", bound=0.15, text="p50 ≤ 0.15 ms"),
    Target(figure="p99_over_p50", bound=3, text="p99/p50 ≤ 3"),
)
RATIO_TARGETS: Mapping[str, Target] = {
    "quickjs-rs": Target(figure="ratio", bound=1 / 5, text="ours ≤ 1/5"),
    "quickjs-rs-async": Target(figure="ratio", bound=1 / 5, text="ours ≤ 1/5"),
    "modebox": Target(figure="ratio", bound=1 / 2, text="ours ≤ 1/2"),
    "pydantic-monty": Target(figure="ratio", bound=1, text="ours below it"),
    "pydantic-monty-async": Target(figure="ratio", bound=1, text="ours below it"),
}

TASKS_COUNT = 16
PROCESSES_COUNT = 2
THROUGHPUT_NAMES = (US, "quickjs-rs-async", "modebox", "pydantic-monty-async")
THROUGHPUT_COLUMNS = (
    Column(key="one_task_per_s", head="1 task /s"),
    Column(key="many_tasks_per_s", head=f"{TASKS_COUNT} tasks /s"),
    Column(key="processes_per_s", head=f"{PROCESSES_COUNT} processes /s"),
    Column(key="ratio", head=f"ours/it at {TASKS_COUNT}", digits=1),
)
TWO_CORES = Target(figure="processes_per_s", bound=8000, at_least=True, text="2 cores ≥ 8,000/s")

SUSPENDED_NAMES = (US, "quickjs-rs-async", "modebox")
"""Whose runs can wait by the hundred in one process; a waiting pydantic-monty run holds a process."""

SUSPENDED_COLUMNS = (
    Column(key="proportional_mb", head="PSS MB", digits=3),
    Column(key="private_mb", head="private MB", digits=3),
    Column(key="resident_mb", head="RSS MB", digits=3),
    Column(key="page_table_mb", head="page tables MB", digits=3),
    Column(key="left_mb", head="left over MB", digits=3),
    Column(key="threads_count", head="threads"),
    Column(key="runs_count", head="runs"),
    Column(key="ratio", head="ours/it", digits=2),
)
SUSPENDED = Target(figure="proportional_mb", bound=0.3, text="PSS ≤ 0.3 MB")


def fresh(rounds_count: int, block_s: float) -> Section:
    """Measure each contender for so long in each round."""
    samples_ms: dict[str, list[float]] = {}
    with Field(CONTENDERS) as field:
        for _ in range(rounds_count):
            for name in CONTENDERS:
                samples_ms.setdefault(name, []).extend(field.ask(name, "latency", seconds_s=block_s) or ())
    ours_ms = latency(samples_ms[US])["p50_ms"]

    def row(name: str) -> Row:
        contender, note = CONTENDERS[name], field.notes.get(name)
        if note is not None:
            return Row(name=contender.title, note=note)
        figures: dict[str, float | None] = {**latency(samples_ms[name])}
        if contender.is_peer:
            figures["ratio"] = ours_ms / latency(samples_ms[name])["p50_ms"]
        targets: Sequence[Target] = ONE_OP_TARGETS if name == US else ()
        if name in RATIO_TARGETS:
            targets = (RATIO_TARGETS[name],)
        return Row(name=contender.title, figures=figures, targets=targets, note=contender.note)

    return Section(
        key="fresh", title="Fresh sandbox, one host call, result back: through the contract, on the event loop",
        columns=LATENCY_COLUMNS, rows=[row(name) for name in CONTENDERS],
        note=f"{rounds_count} rounds in which all take turns, a process each; ours/it is by p50, our run with one op",
    )  # fmt: skip


def throughput(seconds_s: float) -> Section:
    """Measure the runs of one second, for so long each."""
    figures: dict[str, dict[str, float | None]] = {}
    with Field(THROUGHPUT_NAMES) as field:
        for name in THROUGHPUT_NAMES:
            figures[name] = {
                "one_task_per_s": field.ask(name, "throughput", tasks_count=1, seconds_s=seconds_s),
                "many_tasks_per_s": field.ask(name, "throughput", tasks_count=TASKS_COUNT, seconds_s=seconds_s),
            }
    figures[US]["processes_per_s"] = _of_processes(seconds_s)
    ours = figures[US]["many_tasks_per_s"]
    rows: list[Row] = []
    for name in THROUGHPUT_NAMES:
        theirs = figures[name]["many_tasks_per_s"]
        if name != US and ours is not None and theirs is not None:
            figures[name]["ratio"] = ours / theirs
        rows.append(
            Row(
                name=CONTENDERS[name].title,
                figures=figures[name],
                targets=[TWO_CORES] if name == US else (),
                note=field.notes.get(name, ""),
            )
        )
    return Section(
        key="throughput", title="Fresh runs with one host call in a second", columns=THROUGHPUT_COLUMNS, rows=rows,
        note=f"tasks share one event loop; processes run {TASKS_COUNT} tasks each",
    )  # fmt: skip


def _of_processes(seconds_s: float) -> float:
    children = [Child(US) for _ in range(PROCESSES_COUNT)]
    try:
        for child in children:
            child.answer()
        for child in children:
            child.order("throughput", tasks_count=TASKS_COUNT, seconds_s=seconds_s)
        return sum(float(child.answer()) for child in children)
    finally:
        for child in children:
            child.close()


def suspended(runs_count: int) -> Section:
    """Measure the memory of so many runs that wait for their host call at once."""
    with Field(SUSPENDED_NAMES) as field:
        memories: dict[str, Any] = {
            name: field.ask(name, "suspended", runs_count=runs_count) for name in SUSPENDED_NAMES
        }
    figures = {name: _growth(memory, runs_count) for name, memory in memories.items() if memory is not None}
    rows: list[Row] = []
    for name in SUSPENDED_NAMES:
        row = figures.get(name, {})
        if name != US and row:
            row["ratio"] = figures[US]["proportional_mb"] / row["proportional_mb"]
        rows.append(
            Row(
                name=CONTENDERS[name].title,
                figures=row,
                targets=[SUSPENDED] if name == US else (),
                note=field.notes.get(name, ""),
            )
        )
    return Section(
        key="suspended", title="Memory of a run that waits for its host call (growth for each of the runs)",
        columns=SUSPENDED_COLUMNS, rows=rows,
        note="PSS counts the snapshot's shared pages once; page tables are the kernel's; threads of the whole process",
    )  # fmt: skip


def _growth(memory: Mapping[str, Mapping[str, int]], runs_count: int) -> dict[str, float]:
    before, waiting, after = memory["before"], memory["waiting"], memory["after"]

    def grown(name: str, to: Mapping[str, int] = waiting) -> float:
        return per_run(before[f"{name}_bytes"], to[f"{name}_bytes"], runs_count)

    return {
        "proportional_mb": grown("proportional"),
        "private_mb": grown("private"),
        "resident_mb": grown("resident"),
        "page_table_mb": grown("page_table"),
        "left_mb": grown("private", after),
        "threads_count": waiting["threads_count"],
        "runs_count": runs_count,
    }
