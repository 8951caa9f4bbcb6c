"""What a measurement leaves: sections of rows with named figures, and the targets that they are held against.

A figure's name ends in its unit (``p50_ms``, ``private_mb``); a megabyte is 10^6 bytes. A missing figure is None.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Column", "Row", "Section", "Target", "latency", "per_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One figure of a section's rows."""

    key: str
    head: str
    digits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A bound on one figure of a row: at most, or at least."""

    figure: str
    bound: float
    at_least: bool = False
    text: str
    """The bound as a person writes it, e.g. ``≤ 0.15 ms``."""

    def is_met(self, value: float) -> bool:
        """Whether the figure keeps the bound."""
        return value >= self.bound if self.at_least else value <= self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line: who or what was measured, and its figures."""

    name: str
    figures: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    targets: Sequence[Target] = ()
    note: str = ""

    def verdicts(self) -> list[dict[str, Any]]:
        """Each target whose figure is there, and whether it was met."""
        found: list[dict[str, Any]] = []
        for target in self.targets:
            value = self.figures.get(target.figure)
            if value is not None:
                found.append({"figure": target.figure, "target": target.text, "met": target.is_met(value)})
        return found

    def as_json(self) -> dict[str, Any]:
        """The row as JSON values."""
        return {"name": self.name, "figures": dict(self.figures), "targets": self.verdicts(), "note": self.note}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table."""

    key: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """The section as JSON values."""
        return {"key": self.key, "title": self.title, "note": self.note, "rows": [row.as_json() for row in self.rows]}


def latency(samples_ms: Sequence[float]) -> dict[str, float]:
    """Get p50, p99 (the nearest rank), their ratio and the number of samples."""
    ordered = sorted(samples_ms)
    p50 = statistics.median(ordered)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return {"p50_ms": p50, "p99_ms": p99, "p99_over_p50": p99 / p50, "runs_count": float(len(ordered))}


def per_run(before_bytes: int, after_bytes: int, runs_count: int) -> float:
    """Get the growth in megabytes for each run."""
    return (after_bytes - before_bytes) / runs_count / 1e6
