"""The rules by which a run is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.host.runs import contents, run

from keelbox.conversation import MemoryConversation
from keelbox.outcome import Effects, Fate, OpRecord
from keelbox.run_rules import ID_BYTES, effects_of, excess, session_changed
from keelbox_sandbox.contract import (
    KIB,
    MIB,
    Call,
    Event,
    FailureCode,
    Limits,
    LogLine,
    Perform,
    RunResult,
    Script,
    Write,
)
from keelbox_sandbox.wasm import WasmSandbox

LIMITS = Limits(writes_count=3, message_mib=1, staged_mib=2, log_kib=4, log_lines_count=5)


def write(content: str = "x", *, bytes_count: int | None = None, agent_id: str = "main") -> Write:
    size = len(content.encode()) if bytes_count is None else bytes_count
    return Write(agent_id=agent_id, session_id="s", request_id="r", content=content, bytes_count=size)


def result(*writes: Write, logs: tuple[str, ...] = ()) -> RunResult:
    return RunResult(code=None, writes=writes, logs=tuple(LogLine(level="info", text=text) for text in logs))


@pytest.mark.parametrize(
    "largest",
    [
        result(),
        result(write(), write(), write()),
        result(write("ж" * (MIB // 2)), write("x" * MIB)),
        result(write(agent_id="x" * ID_BYTES)),
        result(logs=("x" * 4 * KIB,)),
        result(logs=("x",) * 5 + ("17 further log lines were dropped",)),
    ],
)
def test_what_the_limits_allow_passes(largest: RunResult) -> None:
    assert excess(largest, LIMITS) is None


@pytest.mark.parametrize(
    ("lie", "told"),
    [
        (result(*[write()] * 4), "4 writes; writes_count is 3"),
        (result(write("x" * (MIB + 1))), "a message of 1048577 bytes; message_mib is 1"),
        (result(*[write("ж" * (MIB // 2))] * 2, write()), "messages of 2097153 bytes; staged_mib is 2"),
        (result(write("xx", bytes_count=1)), "a message whose size is not the one that it states"),
        (result(write(agent_id="")), "a write with an id that is empty or longer than 4096 bytes"),
        (result(write(agent_id="ж" * 2049)), "a write with an id that is empty or longer than 4096 bytes"),
        (result(logs=("x",) * 7), "7 log lines; log_lines_count is 5"),
        (result(logs=("x" * 5 * KIB, "x")), "5121 bytes of log; log_kib is 4"),
    ],
)
def test_what_is_beyond_the_limits_is_told(lie: RunResult, told: str) -> None:
    assert excess(lie, LIMITS) == told


class TakenOver(WasmSandbox):
    """A sandbox whose guest has taken it over and reports what it likes."""

    def __init__(self, lie: Callable[[RunResult], RunResult]) -> None:
        super().__init__()
        self.lie = lie

    async def run(
        self,
        script: Script,
        call: Call,
        limits: Limits,
        perform: Perform,
        observe: Callable[[Event], None] | None = None,
    ) -> RunResult:
        return self.lie(await super().run(script, call, limits, perform, observe))


@pytest.mark.anyio
async def test_lying_sandbox_writes_nothing() -> None:
    conversation = MemoryConversation()
    async with TakenOver(lambda true: replace(true, writes=true.writes * 21)) as sandbox:
        outcome = await run(sandbox, "push('x'); return 1;", conversation=conversation)

    assert (outcome.code, outcome.certificate.effects) == (FailureCode.SANDBOX_CRASHED, Effects.NONE)
    assert outcome.message == "the sandbox reported more than its limits allow: 21 writes; writes_count is 20"
    assert (len(outcome.certificate.writes), outcome.result) == (20, None)
    assert await contents(conversation) == []


def op(method: str, fate: Fate, kind: str = "http") -> OpRecord:
    return OpRecord(kind=kind, method=method, url="https://x.example/", fate=fate)


@pytest.mark.parametrize(
    ("ops", "effects"),
    [
        ([], Effects.NONE),
        ([op("GET", Fate.IN_FLIGHT), op("OPTIONS", Fate.ANSWERED)], Effects.NONE),
        ([op("POST", Fate.REFUSED), op("PUT", Fate.NOT_SENT)], Effects.NONE),
        ([op("READ", Fate.ANSWERED, kind="agent")], Effects.NONE),
        ([op("POST", Fate.ANSWERED), op("GET", Fate.IN_FLIGHT)], Effects.SENT),
        ([op("DELETE", Fate.IN_FLIGHT), op("POST", Fate.ANSWERED)], Effects.UNKNOWN),
    ],
)
def test_effects_come_from_the_gravest_op(ops: list[OpRecord], effects: Effects) -> None:
    assert effects_of(ops, committed=False) is effects
    assert effects_of(ops, committed=True) is Effects.COMMITTED


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({}, {}, False),
        ({"b": 1, "a": [1]}, {"a": [1], "b": 1}, False),
        ({"a": 1}, {"a": True}, True),
        ({"a": [1, 2]}, {"a": [2, 1]}, True),
        ({"a": 1}, {}, True),
    ],
)
def test_session_change(before: Mapping[str, Any], after: Mapping[str, Any], changed: bool) -> None:
    assert session_changed(before, after) is changed


@given(st.lists(st.builds(op, st.sampled_from(["GET", "POST"]), st.sampled_from(Fate))))
def test_effects_do_not_depend_on_order(ops: list[OpRecord]) -> None:
    assert effects_of(ops, committed=False) is effects_of(reversed(ops), committed=False)
