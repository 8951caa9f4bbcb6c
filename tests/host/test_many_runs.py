"""Hundreds of runs that wait for a slow service share one process, and each of them has one request open at most."""

from __future__ import annotations

import pytest
from bench.waiting import ANSWER_AFTER_S, RUNS_COUNT, measure

from keelbox.outcome import Effects

ONE_AFTER_THE_OTHER_S = RUNS_COUNT * ANSWER_AFTER_S


@pytest.mark.slow
def test_500_runs_wait_for_a_slow_server_at_once() -> None:
    """Each run tries to have two requests open; the server sees one. How fast it is on a quiet machine, bench says."""
    waiting = measure()

    found = [(outcome.code, outcome.result) for outcome in waiting.outcomes]
    assert found == [(None, [200, "buffer-busy"])] * RUNS_COUNT
    assert {outcome.certificate.effects for outcome in waiting.outcomes} == {Effects.COMMITTED}
    assert (waiting.seen.requests_count, waiting.seen.open_peak_of_one_run_count) == (RUNS_COUNT, 1)
    assert waiting.elapsed_s < ONE_AFTER_THE_OTHER_S / 5, "they waited one after the other"
