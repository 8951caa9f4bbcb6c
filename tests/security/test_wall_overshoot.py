"""How far past its limits a hostile script gets: 150 ms of time, and 10 MiB above its ceiling of memory (SECURITY R).

Each member of the corpus runs in a process of its own, where all that it costs can be measured. Other work on the
machine can only make a measurement worse, so one that fails is repeated; the limits are not widened.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.hostile import ENDS, SOURCES
from tests.probe import Measured, can_measure_memory, measure
from tests.wall import MIB

from keelbox_sandbox.contract import FailureCode, Limits

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

CPU_S = WALL_S = 0.3
OVERSHOOT_S = 0.15
GROWTH_BYTES = Limits().ceiling_bytes + 10 * MIB
TRIES_COUNT = 3

CORPUS = [*ENDS, *SOURCES]
ENDLESS = [name for name, ends in ENDS.items() if ends == FailureCode.CPU_EXCEEDED]


def best(measured: Callable[[], Measured], is_good: Callable[[Measured], bool]) -> Measured:
    """The first good measurement of `TRIES_COUNT`, else the last."""
    result = measured()
    for _ in range(TRIES_COUNT - 1):
        if is_good(result):
            break
        result = measured()
    return result


@pytest.mark.parametrize("name", CORPUS)
def test_processor_time(name: str) -> None:
    def is_good(result: Measured) -> bool:
        spent_s = result.process_cpu_s if result.code == FailureCode.CPU_EXCEEDED else result.guest_cpu_s
        return spent_s <= CPU_S + OVERSHOOT_S

    result = best(lambda: measure(name, cpu_s=CPU_S, wall_s=50), is_good)
    assert is_good(result), result


@pytest.mark.parametrize("name", [*ENDLESS, "compile_many_private_names", "compile_many_imports"])
def test_wall_time(name: str) -> None:
    def is_good(result: Measured) -> bool:
        return result.wall_s <= WALL_S + OVERSHOOT_S

    result = best(lambda: measure(name, cpu_s=50, wall_s=WALL_S), is_good)
    assert is_good(result), result


@pytest.mark.skipif(not can_measure_memory(), reason="the highest resident size cannot be measured here")
@pytest.mark.parametrize("name", CORPUS)
def test_memory(name: str) -> None:
    result = best(lambda: measure(name, cpu_s=1, wall_s=50), lambda result: result.growth_bytes <= GROWTH_BYTES)
    assert result.growth_bytes <= GROWTH_BYTES, result.growth_bytes / MIB
