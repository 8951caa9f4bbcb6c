"""What the contract's layers cost, and what the guest's code does: the sections without peers of their own."""

from __future__ import annotations

from . import children, machine
from .figures import Column, Row, Section, Target, latency

__all__ = ["below_the_loop", "compute"]

PHASE_COLUMNS = (
    Column(key="p50_ms", head="p50 ms", digits=3),
    Column(key="p99_ms", head="p99 ms", digits=3),
    Column(key="p99_over_p50", head="p99/p50", digits=2),
    Column(key="runs_count", head="runs"),
    Column(key="per_s", head="runs /s"),
)
COMPUTE_COLUMNS = (
    Column(key="guest_ms", head="guest ms", digits=1),
    Column(key="native_ms", head="native ms", digits=1),
    Column(key="ratio", head="guest/native", digits=2),
)
NO_SLOWER = Target(figure="ratio", bound=1.5, text="≤ 1.5×")


def below_the_loop(seconds_s: float) -> Section:
    """Measure isolates in one thread and in two, and the hand-over to a guest thread, for about so long each."""
    found = children.once("isolate_level", str(seconds_s))
    phases: dict[str, list[float]] = found["phases_ms"]
    whole = [sum(sample) for sample in zip(*phases.values(), strict=True)]
    rows = [Row(name=name, figures=dict(latency(samples))) for name, samples in phases.items()]
    rows += [
        Row(name="the run, one thread", figures={**latency(whole), "per_s": 1000 * len(whole) / sum(whole)}),
        Row(name="the run, two threads", figures={"per_s": found["threads_runs_per_s"]}),
        Row(
            name="hand-over to a thread and back", figures=dict(latency(found["handovers_ms"])),
            note="what a call that takes long pays once",
        ),
    ]  # fmt: skip
    return Section(
        key="below",
        title="The same run below the event loop: the isolate alone, one op",
        columns=PHASE_COLUMNS,
        rows=rows,
    )


def compute(repeats_count: int) -> Section:
    """Measure the compute suite, the best of so many repeats."""
    found: dict[str, dict[str, float | None]] = children.once("compute", str(repeats_count))
    version = machine.version_of("quickjs-ng")
    rows: list[Row] = []
    for name, times in found.items():
        guest_s, native_s = times["guest_s"], times["native_s"]
        assert guest_s is not None
        figures: dict[str, float | None] = {"guest_ms": guest_s * 1000}
        if native_s is not None:
            figures |= {"native_ms": native_s * 1000, "ratio": guest_s / native_s}
        rows.append(Row(name=name, figures=figures, targets=[NO_SLOWER]))
    return Section(
        key="compute", columns=COMPUTE_COLUMNS, rows=rows,
        title=f"Compute in the guest against native quickjs-ng (processor time, best of {repeats_count})",
        note=f"native: quickjs-ng {version}" if version else "native: quickjs-ng is not installed",
    )  # fmt: skip
