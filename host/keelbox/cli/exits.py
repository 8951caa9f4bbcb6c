"""The exit codes of the command line (docs/reference/cli.md)."""

from __future__ import annotations

from enum import IntEnum

from keelbox.outcome import Effects, RunOutcome
from keelbox_sandbox.contract import FailureCode

__all__ = ["Exit", "exit_of"]


class Exit(IntEnum):
    """What a command's exit code says."""

    DONE = 0
    FAILED = 1
    """The tool failed, or a check did."""
    MISUSE = 2
    INPUT = 3
    LIMIT = 5
    UNKNOWN = 6
    """A request that may have had an effect was in flight: nobody knows what became of it."""
    INTERRUPTED = 130


_LIMIT_CODES = frozenset(
    {
        FailureCode.MEMORY_EXCEEDED,
        FailureCode.CPU_EXCEEDED,
        FailureCode.TIME_EXCEEDED,
        FailureCode.RETURN_TOO_LARGE,
    }
)


def exit_of(outcome: RunOutcome) -> Exit:
    """Get the exit code for a run. That an outcome is unknown outweighs everything else."""
    if outcome.certificate.effects is Effects.UNKNOWN:
        return Exit.UNKNOWN
    if outcome.code is None:
        return Exit.DONE
    if outcome.code is FailureCode.CANCELLED:
        return Exit.INTERRUPTED
    return Exit.LIMIT if outcome.code in _LIMIT_CODES else Exit.FAILED
