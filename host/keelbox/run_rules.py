"""The rules by which a run is judged: what it did to the world, and whether its sandbox kept the limits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from keelbox.outcome import Effects, Fate, OpRecord
from keelbox_sandbox.contract import KIB, MIB, FailureCode, Limits, RunResult, Usage, Write

__all__ = ["ID_BYTES", "effects_of", "excess", "left_of", "on_account", "session_changed"]

ID_BYTES = 4 * KIB
"""Longest agent, session or request id of a staged write, in UTF-8."""

_MARKER_BYTES = KIB
"""Room for the one log line that says how many were dropped."""


def effects_of(ops: Iterable[OpRecord], *, committed: bool) -> Effects:
    """Say what a run did to the world (DESIGN, section 4.4)."""
    if committed:
        return Effects.COMMITTED
    fates = {op.fate for op in ops if op.may_have_effect}
    if Fate.IN_FLIGHT in fates:
        return Effects.UNKNOWN
    return Effects.SENT if Fate.ANSWERED in fates else Effects.NONE


def excess(result: RunResult, limits: Limits) -> str | None:
    """Say where a result is larger than any sandbox that keeps the limits can report, None if nowhere.

    The guest fills in these texts and counts. The sandbox holds them to the limits; the host holds them once more, so
    that a guest that has taken over its sandbox gains nothing by lying about sizes.
    """
    logs_bytes = sum(_bytes_count(line.text) for line in result.logs)
    sizes = [_bytes_count(write.content) for write in result.writes]
    if len(result.writes) > limits.writes_count:
        return f"{len(result.writes)} writes; writes_count is {limits.writes_count}"
    if max(sizes, default=0) > limits.message_mib * MIB:
        return f"a message of {max(sizes)} bytes; message_mib is {limits.message_mib:g}"
    if sum(sizes) > limits.staged_mib * MIB:
        return f"messages of {sum(sizes)} bytes; staged_mib is {limits.staged_mib:g}"
    if sizes != [write.bytes_count for write in result.writes]:
        return "a message whose size is not the one that it states"
    if any(not 0 < _bytes_count(text) <= ID_BYTES for write in result.writes for text in _ids(write)):
        return f"a write with an id that is empty or longer than {ID_BYTES} bytes"
    if len(result.logs) > limits.log_lines_count + 1:
        return f"{len(result.logs)} log lines; log_lines_count is {limits.log_lines_count}"
    if logs_bytes > limits.log_kib * KIB + _MARKER_BYTES:
        return f"{logs_bytes} bytes of log; log_kib is {limits.log_kib:g}"
    return None


def left_of(limits: Limits, used: Usage) -> Limits:
    """Say what a run may still use when compiling its script has used some of its time (DESIGN, section 4.2)."""
    cpu_s, wall_s = limits.cpu_s - used.cpu_s, limits.wall_s - used.wall_s
    return replace(limits, cpu_s=max(cpu_s, 0.0), wall_s=max(wall_s, 0.0))


def on_account(result: RunResult, limits: Limits, used: Usage) -> RunResult:
    """Add what compiling used to what the run used.

    The sandbox knows only of what `left_of` gave it. Where it names a time limit, this names the one of ``limits``.
    """
    usage = result.usage
    usage = replace(usage, cpu_s=usage.cpu_s + used.cpu_s, wall_s=usage.wall_s + used.wall_s)
    message = result.message
    if result.code is FailureCode.CPU_EXCEEDED and used.cpu_s:
        share = f"{used.cpu_s:.2g} s of it to compile"
        message = f"the script used more than {limits.cpu_s:g} s of processor time (cpu_s), {share}"
    elif result.code is FailureCode.TIME_EXCEEDED and used.wall_s:
        share = f"{used.wall_s:.2g} s of it to compile"
        message = f"the run took longer than {limits.wall_s:g} s, waiting included (wall_s), {share}"
    return replace(result, usage=usage, message=message)


def session_changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two session values differ as JSON; the order of keys does not count, ``1`` and ``true`` differ."""
    return _canonical(before) != _canonical(after)


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True)


def _ids(write: Write) -> tuple[str, str, str]:
    return (write.agent_id, write.session_id, write.request_id)


def _bytes_count(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
