"""One run: enters the isolate, hands its ops out, and puts the result together."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import anyio

from keelbox_sandbox import codec
from keelbox_sandbox.contract import (
    KIB,
    MIB,
    Call,
    Event,
    FailureCode,
    Limits,
    LogLine,
    Op,
    OpError,
    Perform,
    RefusedOp,
    Reply,
    RunResult,
    Script,
    Usage,
    Write,
)

from .abi import Phase, State
from .engine import Engine
from .failure import RunFailure, from_crash, from_report, from_stop
from .header import start_header
from .isolate import CrashError, Isolate, Stop
from .program import Program
from .records import Records
from .threads import GuestThreads

__all__ = ["WALLS", "Run"]

_LOG = logging.getLogger(__name__)

WALLS = ("wasm", "heap-limit", "memory-maximum", "interrupt", "epoch")
"""The walls of this runtime; all of them are always there."""

_KINDS: dict[int, Literal["http", "agent"]] = {1: "http", 2: "agent"}
_HEAD_BYTES_MAX = 64 * KIB
_OP_HEAD_BYTES_MAX = 128 * KIB
"""As guest.h has it: a head of many small values would cost the host many times its text."""

INLINE_BYTES_MAX = 256 * KIB
"""A guest call that is given more than this begins in a worker thread: reading it in takes long enough."""

THREADED_CALLS_COUNT = 100
"""Calls of a script that begin in a worker thread after one that took long; then it is tried again."""

_RECORD_ROOM_BYTES = 4 * MIB
"""Outbox beyond the texts that the limits count: heads of records, identifiers, progress and refused ops."""


@dataclass(slots=True)
class _Step:
    """What one guest call left, copied out of its memory."""

    state: State
    events: list[Event] = field(default_factory=list[Event])
    parts: list[bytes] = field(default_factory=list[bytes])
    crash: CrashError | None = None


class Run:
    """State of one run. Made and used by `WasmSandbox.run` only."""

    def __init__(
        self, engine: Engine, threads: GuestThreads, script: Script, limits: Limits, perform: Perform,
        observe: Callable[[Event], None] | None,
    ) -> None:  # fmt: skip
        self._engine = engine
        self._threads = threads
        self._script = script
        self._limits = limits
        self._perform = perform
        self._observe = observe
        self._isolate: Isolate | None = None
        self.started_s = time.monotonic()
        self.deadline_s = self.started_s + limits.wall_s
        self._scope_deadline_s = anyio.current_time() + limits.wall_s
        """The same moment on the event loop's clock."""
        self.cpu_s = 0.0
        """Processor time that compiling took; the isolate counts its own."""
        self._records = Records(limits)
        self._writes: list[Write] = []
        self._logs: list[LogLine] = []
        self._refused: list[RefusedOp] = []
        self._heap_peak_bytes = 0
        self._buffer_peak_bytes = 0
        self._requests_count = 0
        self._bytes_in = 0
        self._bytes_out = 0

    def stop(self) -> None:
        """Make a guest call that is under way end soon."""
        if self._isolate is not None:
            self._isolate.request_stop("cancelled")

    async def execute(self, program: Program, call: bytes) -> RunResult:
        """Run the program to its end."""
        try:
            await self._threads.give_way()
            try:
                self._make_isolate(program, call)
            except CrashError as error:  # no memory, or no address space, for another instance
                return self.failed(_crashed(f"the sandbox could not be made: {error}"))
            step = await self._guest_call(program, len(call))
            while True:
                self._take(step)
                if step.crash is not None:
                    isolate = self._isolate
                    return self.failed(
                        from_crash(step.crash, step.state, isolate.stop if isolate else None, self._limits)
                    )
                if step.state.phase != Phase.SUSPENDED:
                    return self._ended(step)
                answer = await self._answer(step)
                if isinstance(answer, RunFailure):
                    return self.failed(answer)
                self._begin_resume(*answer)
                step = await self._guest_call(program, len(answer[2]))
        finally:
            if self._isolate is not None:
                self._isolate.close()

    def failed(self, failure: RunFailure) -> RunResult:
        """The result of a run that did not return cleanly."""
        return RunResult(
            code=failure.code, message=failure.message, hint=failure.hint, stack=failure.stack,
            location=failure.location, **self._common(),
        )  # fmt: skip

    async def _guest_call(self, program: Program, data_bytes: int) -> _Step:
        """Carry out the guest call that has begun.

        A call begins on the event loop's own thread, because most are over in less time than a hand-over to another
        thread takes. One that is not over at the next tick moves to a worker thread, and then so do the next calls of
        this script, and for a moment those of all scripts that have not been seen to be quick.
        """
        if program.threaded_calls_count > 0:
            program.threaded_calls_count -= 1
        elif data_bytes <= INLINE_BYTES_MAX and (program.is_quick or self._threads.may_try()):
            step = self._advance(may_yield=True)
            if step is not None:
                program.is_quick = True
                return step
            program.is_quick = False
            program.threaded_calls_count = THREADED_CALLS_COUNT
            self._threads.tried_in_vain()
        return await self._threads.call(self._advance_to_the_end, self.stop)

    def _make_isolate(self, program: Program, call: bytes) -> None:
        limits = self._limits
        header = start_header(limits).pack(os.urandom(32), program.modules_count, len(call))
        isolate = Isolate(
            self._engine,
            heap_bytes=limits.heap_bytes,
            buffer_bytes=limits.buffer_bytes,
            outbox_bytes=int(limits.staged_mib * MIB + limits.log_kib * KIB) + MIB,
            room_bytes=len(header) + len(program.blob) + len(call) + 1,
            cpu_s=max(0.0, limits.cpu_s - self.cpu_s),
            wall_deadline_s=self.deadline_s,
        )
        self._isolate = isolate
        isolate.write_buffer(header, program.blob, call, b"\0")
        isolate.begin("start", isolate.buffer_address, isolate.room_bytes)

    def _begin_resume(self, ok: bool, head: bytes, body: bytes | bytearray | memoryview) -> None:
        isolate = cast("Isolate", self._isolate)
        isolate.write_buffer(head, body)
        isolate.begin("resume", int(ok), len(head), len(body))

    def _advance_to_the_end(self) -> _Step:
        return cast("_Step", self._advance(may_yield=False))

    def _advance(self, *, may_yield: bool) -> _Step | None:
        """Run the guest, and copy out what it left; None if it is not at its end. In any thread."""
        isolate = cast("Isolate", self._isolate)
        crash: CrashError | None = None
        try:
            if not isolate.advance(may_yield=may_yield):
                return None
        except CrashError as error:
            crash = error
        step = _Step(isolate.state(), crash=crash)
        isolate.settle_account()
        if crash is None and isolate.stop is not None and step.state.phase != Phase.FAILED:
            # A script can swallow the soft stop, and go on where no tick falls; it is over all the same.
            step.crash = crash = CrashError("stopped by the host")
        try:
            # Also after a crash: what was logged and staged before it is still in memory, if that can be read.
            for event in self._records.events(isolate.read_outbox(step.state.outbox_address, self._outbox_bytes())):
                step.events.append(event)
            if crash is None:
                step.parts = self._read_parts(isolate, step.state)
        except CrashError as error:
            step.crash = crash or error
        if step.crash is not None or step.state.phase != Phase.SUSPENDED:
            isolate.close()
        return step

    def _read_parts(self, isolate: Isolate, state: State) -> list[bytes]:
        if state.phase == Phase.SUSPENDED:
            return isolate.read_buffer(state.op_head_bytes, state.op_body_bytes)
        if state.phase in (Phase.DONE, Phase.FAILED):
            return isolate.read_buffer(*state.part_bytes)
        raise CrashError(f"the guest is in phase {state.phase}")

    def _outbox_bytes(self) -> int:
        return int(self._limits.staged_mib * MIB + self._limits.log_kib * KIB) + _RECORD_ROOM_BYTES

    # --- on the event loop ---

    def _take(self, step: _Step) -> None:
        state = step.state
        self._heap_peak_bytes = max(self._heap_peak_bytes, state.heap_peak_bytes)
        for event in step.events:
            if isinstance(event, LogLine):
                self._logs.append(event)
            elif isinstance(event, Write):
                self._writes.append(event)
            elif isinstance(event, RefusedOp):
                self._refused.append(event)
            self._tell(event)
        ended = step.crash is not None or state.phase != Phase.SUSPENDED
        if ended and state.logs_dropped_count:
            line = LogLine(
                level="warning",
                text=f"{state.logs_dropped_count} further log lines were dropped "
                f"(log_lines_count {self._limits.log_lines_count}, log_kib {self._limits.log_kib:g})",
            )
            self._logs.append(line)
            self._tell(line)

    def _tell(self, event: Event) -> None:
        if self._observe is not None:
            self._observe(event)

    async def _answer(self, step: _Step) -> tuple[bool, bytes, bytes | bytearray | memoryview] | RunFailure:
        """Have the op performed, within the run's wall time."""
        state = step.state
        head_text, body = step.parts
        kind = _KINDS.get(state.op_kind)
        self._requests_count += 1
        if (
            kind is None
            or state.op_number != self._requests_count
            or state.op_number > self._limits.requests_count
            or len(head_text) > _OP_HEAD_BYTES_MAX
            or len(body) > self._limits.buffer_bytes
        ):
            return _crashed("the guest asked for an operation that cannot be")
        try:
            head = codec.decode(head_text)
        except codec.CodecError as error:
            return _crashed(f"the guest's request is not JSON: {error}")
        if not isinstance(head, dict):
            return _crashed("the guest's request is not an object")
        self._buffer_peak_bytes = max(self._buffer_peak_bytes, len(body))
        self._bytes_out += len(body)
        op = Op(
            number=state.op_number, kind=kind, head=cast("dict[str, Any]", head), body=body, writes=tuple(self._writes),
            room_bytes=self._limits.buffer_bytes,
        )  # fmt: skip
        try:
            with anyio.CancelScope(deadline=self._scope_deadline_s):
                return self._accepted(await self._perform(op))
        except OpError as error:
            message = error.message.encode("utf-8", "replace").decode()
            return False, codec.encode({"code": error.code, "message": message}), b""
        except Exception as error:
            # Without its text and trace: whoever performs has the error, and knows what in it is secret.
            _LOG.debug("an operation of %s could not be performed: %s", self._script.entry, type(error).__name__)
            return RunFailure(
                code=FailureCode.HOST_ERROR,
                message=f"the host failed to perform the operation ({type(error).__name__})",
            )
        return from_stop(Stop("time-exceeded", self.deadline_s), self._limits)

    def _accepted(self, reply: Reply) -> tuple[bool, bytes, bytes | bytearray | memoryview]:
        if len(reply.body) > self._limits.buffer_bytes:
            raise OpError(
                "response-too-large",
                f"the response is larger than the exchange buffer ({self._limits.buffer_mib:g} MiB, buffer_mib)",
            )
        head = codec.encode(dict(reply.head))
        if len(head) > _HEAD_BYTES_MAX:
            raise OpError("response-too-large", "the response's headers are larger than 64 KiB")
        self._buffer_peak_bytes = max(self._buffer_peak_bytes, len(reply.body))
        self._bytes_in += len(reply.body)
        return True, head, reply.body

    def _ended(self, step: _Step) -> RunResult:
        isolate = cast("Isolate", self._isolate)
        if step.state.phase == Phase.FAILED:
            return self.failed(from_report(step.state, step.parts, isolate.stop, self._limits, self._script.modules))
        limits_kib = (self._limits.return_kib, self._limits.dictionary_kib, self._limits.session_kib)
        if any(len(part) > limit_kib * KIB for part, limit_kib in zip(step.parts, limits_kib, strict=True)):
            return self.failed(_crashed("the guest's result is larger than its limits allow"))
        try:
            value, dictionary, session = map(_decoded, step.parts)
        except codec.CodecError as error:
            return self.failed(_crashed(f"the guest's result is not JSON: {error}"))
        if not isinstance(dictionary, dict) or not isinstance(session, dict):
            return self.failed(_crashed("the guest's dictionary or session is not an object"))
        return RunResult(
            code=None, value=value, dictionary=cast("dict[str, Any]", dictionary), session=cast("dict[str, Any]",
            session), **self._common(),
        )  # fmt: skip

    def _common(self) -> dict[str, Any]:
        isolate_cpu_s = self._isolate.cpu_ns / 1e9 if self._isolate is not None else 0.0
        return {
            "writes": tuple(self._writes),
            "logs": tuple(self._logs),
            "refused_ops": tuple(self._refused),
            "walls": WALLS,
            "usage": Usage(
                cpu_s=self.cpu_s + isolate_cpu_s,
                wall_s=time.monotonic() - self.started_s,
                peak_heap_bytes=self._heap_peak_bytes,
                buffer_peak_bytes=self._buffer_peak_bytes,
                requests_count=self._requests_count,
                bytes_in=self._bytes_in,
                bytes_out=self._bytes_out,
            ),
        }


def encode_call(call: Call) -> bytes:
    """The call's data as the guest reads it.

    Raises:
        CodecError: a value is not JSON.
    """
    return codec.encode(
        {
            "input": call.input,
            "ambient": call.ambient,
            "toolOptions": call.tool_options,
            "flowContext": call.flow_context,
            "dictionary": call.dictionary,
            "session": call.session,
        }
    )


def _decoded(text: bytes) -> Any:
    return {} if text == b"{}" else codec.decode(text)


def _crashed(message: str) -> RunFailure:
    return RunFailure(code=FailureCode.SANDBOX_CRASHED, message=message)
