"""What makes a limit's name and value right: the same rules for limits.yaml, the registry and the command line.

Each rule gives None, or what is wrong in words that follow a name: ``must be a number of MiB, got "lots"``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from keelbox.limit_facts import LIMIT_FACTS, LimitFact

__all__ = ["above", "number", "unfit", "unknown"]

_SCALES: Final[Mapping[str, tuple[str, float]]] = {
    "b": ("size", 1),
    "bytes": ("size", 1),
    "kb": ("size", 2**10),
    "kib": ("size", 2**10),
    "mb": ("size", 2**20),
    "mib": ("size", 2**20),
    "gb": ("size", 2**30),
    "gib": ("size", 2**30),
    "ms": ("time", 0.001),
    "s": ("time", 1),
    "sec": ("time", 1),
    "seconds": ("time", 1),
    "m": ("time", 60),
    "min": ("time", 60),
    "minutes": ("time", 60),
    "h": ("time", 3600),
    "count": ("count", 1),
}
"""Units that people write, and how many bytes or seconds each is."""

_OTHER_STEMS: Final[Mapping[str, str]] = {
    "buffer_size": "buffer",
    "heap_size": "heap",
    "mem": "heap",
    "memory": "heap",
    "stack_size": "stack",
    "time": "wall",
    "timeout": "wall",
}
"""What other systems call these limits."""


def unknown(name: str, value: Any) -> str | None:
    """Say that there is no such limit, and which was meant; None if there is one."""
    if name in LIMIT_FACTS:
        return None
    from keelbox.yaml_faults import unknown_name

    stem, _, unit = name.casefold().rpartition("_")
    if unit not in _SCALES:
        stem, unit = name.casefold(), ""
    stem = _OTHER_STEMS.get(stem, stem)
    fact = next((fact for fact in LIMIT_FACTS.values() if fact.stem == stem), None)
    if fact is None:
        return unknown_name(name, LIMIT_FACTS)
    return f"unknown name; this limit is {_kind(fact)}: write it {fact.name}: {_converted(fact, unit, value)}"


def unfit(fact: LimitFact, value: Any) -> str | None:
    """Say why a value can never be one of this limit; None if it can."""
    from keelbox.yaml_faults import seen

    if value is None:
        return f"null would be no limit, and this one must be; leave it out for the default {number(fact.default)}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"must be {_kind(fact)}, got {seen(value)}"
    if not math.isfinite(value):
        return f"must be a finite number, got {value}"
    if fact.unit == "count" and not isinstance(value, int):
        return f"must be a whole number, got {value}"
    if value <= 0:
        return f"must be more than 0, got {number(value)}; a limit cannot be switched off"
    if value < fact.minimum:
        return f"must be at least {number(fact.minimum)}, got {number(value)}"
    if value > fact.ceiling:
        return f"must be at most {number(fact.ceiling)}, which no maximum can raise, got {number(value)}"
    return None


def above(name: str, value: float, highest: float, origin: str) -> str | None:
    """Say that a value is above the operator's maximum, which ``origin`` sets; None if it is not."""
    if value <= highest:
        return None
    step = f"write less, or raise maximum.{name} in limits.yaml"
    return f"is {number(value)}, above the maximum {number(highest)} ({origin}); {step}"


def number(value: float) -> str:
    """Write a number as a person would: ``30``, not ``30.0``."""
    return str(int(value)) if value == int(value) else repr(value)


def _converted(fact: LimitFact, unit: str, value: Any) -> str:
    """Write a value of a wrong unit in the right one; the default where that is not possible."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return number(fact.default)
    right = _SCALES[fact.name.rpartition("_")[2]]
    wrong = _SCALES.get(unit, right)
    if wrong[0] != right[0]:
        return number(fact.default)
    return number(round(value * wrong[1] / right[1], 6))


def _kind(fact: LimitFact) -> str:
    return "a whole number" if fact.unit == "count" else f"a number of {fact.unit}"
