"""One instance of the guest: made for one run (or one compilation), entered a few times, dropped.

Everything that is read from linear memory is hostile: addresses and sizes are unsigned 32-bit numbers that are checked
against the memory's present size before anything is copied (SECURITY §0.5). What fails a check is a `CrashError`.

Not thread-safe: one thread at a time. A call runs on a stack of its own, so another thread may go on with it after it
yielded.
"""

from __future__ import annotations

import ctypes
import math
import struct
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from . import abi, capi
from .engine import Engine

__all__ = ["CrashError", "Isolate", "OutboxRecord", "Stop"]

YIELD_AFTER_S = 0.002
"""Processor time after which a call that may yield does so, at the next tick. Not wall time: a guest that waits for the
processor holds nobody up."""

HARD_AFTER_S = 0.05
"""From the soft stop (the guest's own poll, which gives a script line) to the hard one (a trap)."""

OVERHEAD_BYTES = 2 * 1024 * 1024
"""Linear memory beyond heap, buffer and outbox: the rounding of blocks and segments. The C stack and data are in the
initial size."""

ENVELOPE_BYTES = 128 * 1024
"""Room in the exchange buffer beside one body: heads, and the NUL that the guest's parser wants."""

_COPY_BYTES_MAX = 65536
"""Up to this size one more copy is quicker than one more call; beyond it memory counts."""

_PAGE_BYTES = 65536
_OUTBOX_BLOCKS_COUNT = 4096
_THREE = struct.Struct("<3I")
_SIZES = tuple(struct.Struct(f"<{count}I") for count in range(5))
_Arguments = capi.Value * 3


OutboxRecord: TypeAlias = tuple[int, int, list[bytes | memoryview]]
"""Type, tag and texts of a record, as the guest left them."""


class CrashError(Exception):
    """The guest trapped, or said something that cannot be. The text is for the operator."""


class Verdict(Enum):
    """What becomes of a running guest at a tick."""

    GO_ON = "go on"
    YIELD = "yield"
    END = "end"


@dataclass(slots=True)
class Stop:
    """Why the guest is being stopped, and since when."""

    reason: str
    at_s: float


class Isolate:
    """See the module's text.

    Args:
        engine: the process's engine.
        heap_bytes, buffer_bytes, outbox_bytes: what the linear memory may grow to, beside the guest's own initial
        memory.
        cpu_s: processor time for all calls together.
        wall_deadline_s: absolute, on `time.monotonic`.
    """

    def __init__(
        self, engine: Engine, *, heap_bytes: int, buffer_bytes: int, outbox_bytes: int, room_bytes: int, cpu_s: float,
        wall_deadline_s: float,
    ) -> None:  # fmt: skip
        layout = engine.layout
        self._engine = engine
        self._state_address = layout.state_address
        self.buffer_address = layout.memory_bytes
        self.room_bytes = -(-max(buffer_bytes + ENVELOPE_BYTES, room_bytes) // _PAGE_BYTES) * _PAGE_BYTES
        self._cpu_left_ns = int(cpu_s * 1e9)
        self._wall_deadline_s = wall_deadline_s
        self.cpu_ns = 0
        self.stop: Stop | None = None
        self._entered_ns = 0
        self._yield_after_ns = math.inf
        self._future: int | None = None
        self._call: tuple[Any, ...] = ()
        self._error = capi.new_pointer()
        self._store = capi.store_new(engine.address, None, None)
        self._context = capi.store_context(self._store)
        maximum = layout.memory_bytes + self.room_bytes + heap_bytes + outbox_bytes + OVERHEAD_BYTES
        capi.store_limiter(self._store, maximum, -1, 1, -1, 1)
        capi.context_set_epoch_deadline(self._context, 1)
        self._trap = capi.new_pointer()
        self._instance = capi.Instance()
        _isolates[id(self)] = self
        try:
            self._check(
                capi.instantiate(
                    engine.pre_address, self._context, ctypes.byref(self._instance), ctypes.byref(self._trap)
                )
            )
            self._memory = self._export(layout.memory_index)
            grown = ctypes.c_uint64()
            self._check(
                capi.memory_grow(
                    self._context, self._memory.of, self.room_bytes // _PAGE_BYTES, ctypes.addressof(grown)
                )
            )
        except BaseException:
            self.close()
            raise
        self._base: int = capi.memory_data(self._context, self._memory.of)
        capi.epoch_yield(self._context, 1)  # from now on the guest comes back to us at each tick

    def close(self) -> None:
        """Drop the instance and its memory, and with them a call that has not ended. Safe to call twice."""
        store, self._store = self._store, None
        if store:
            self._end_call()
            _isolates.pop(id(self), None)
            capi.store_delete(store)

    def enter(self, function: str, *arguments: int) -> abi.State:
        """Call into the guest, wait for the call's end, and read the guest's state.

        Raises:
            CrashError: the guest trapped; `stop` says whether we made it.
        """
        self.begin(function, *arguments)
        self.advance(may_yield=False)
        return self.state()

    def begin(self, function: str, *arguments: int) -> None:
        """Prepare a call; `advance` carries it out."""
        values, results = _Arguments(), capi.Value()
        for i, argument in enumerate(arguments):
            values[i].i32 = argument & 0xFFFFFFFF
        entry = self._export(self._engine.layout.functions[function])
        self._error = capi.new_pointer()
        self._call = (values, results, entry)  # the library reads and writes them until the future is deleted
        self._future = capi.call_async(
            self._context, entry.of, values, len(arguments), ctypes.byref(results), 1, ctypes.byref(self._trap),
            ctypes.byref(self._error),
        )  # fmt: skip

    def advance(self, *, may_yield: bool) -> bool:
        """Run the call that has begun, on a stack of its own, in this thread.

        Args:
            may_yield: come back after `YIELD_AFTER_S` or a tick more, although the call has not ended; any thread may
                then go on with it.

        Returns:
            Whether the call has ended.

        Raises:
            CrashError: the guest trapped.
        """
        engine = self._engine
        capi.context_set_epoch_deadline(self._context, 1)
        engine.entered()
        self._entered_ns = time.thread_time_ns()
        self._yield_after_ns = YIELD_AFTER_S * 1e9 if may_yield else math.inf
        self._set_clock()
        ended = False
        verdict = Verdict.GO_ON
        try:
            # No code of ours runs inside the guest's call: what a signal handler raises comes up here.
            while verdict is Verdict.GO_ON and not (ended := capi.future_poll(self._future)):
                verdict = self.at_tick()
                self._set_clock()
        finally:
            used_ns = time.thread_time_ns() - self._entered_ns
            self.cpu_ns += used_ns
            self._cpu_left_ns -= used_ns
            engine.left()
        if verdict is Verdict.END:
            self._end_call()  # unwinds the guest
            raise CrashError("stopped by the host")
        if ended:
            self._end_call()
            self._check(self._error.value)
        return ended

    def _set_clock(self) -> None:
        now_us = int(time.time() * 1000) * 1000
        ctypes.memmove(self._base + self._state_address + abi.CLOCK_OFFSET, now_us.to_bytes(8, "little"), 8)

    def _end_call(self) -> None:
        future, self._future = self._future, None
        if future:
            capi.future_delete(future)

    def state(self) -> abi.State:
        """The guest's state block, also after a crash."""
        return abi.State.unpack(self.read(self._state_address, abi.STATE_BYTES))

    def read(self, address: int, count: int) -> bytes:
        """Copy from linear memory.

        Raises:
            CrashError: the range is not inside it.
        """
        # What lay inside the initial memory always does: a memory never shrinks.
        inside = address >= 0 and count >= 0 and address + count <= self.buffer_address
        if not inside and not 0 <= address <= address + count <= capi.memory_size(self._context, self._memory.of):
            raise CrashError(f"the guest named {count} bytes at {address}, outside its memory")
        return ctypes.string_at(self._base + address, count)

    def write_buffer(self, *parts: bytes | bytearray | memoryview) -> None:
        """Copy into the exchange buffer, from its start."""
        data = b"".join(parts)
        if len(data) > self.room_bytes:
            raise ValueError("more than the exchange buffer holds")
        ctypes.memmove(self._base + self.buffer_address, data, len(data))

    def read_buffer(self, *counts: int) -> list[bytes]:
        """Copy consecutive texts from the start of the exchange buffer."""
        total = sum(counts)
        if total > self.room_bytes:
            raise CrashError(f"the guest named {total} bytes in an exchange buffer of {self.room_bytes}")
        parts: list[bytes] = []
        at = 0
        if total > _COPY_BYTES_MAX:
            for count in counts:
                parts.append(self.read(self.buffer_address + at, count))
                at += count
            return parts
        data = self.read(self.buffer_address, total)
        for count in counts:
            parts.append(data[at : at + count])
            at += count
        return parts

    def read_outbox(self, address: int, room_bytes: int) -> list[OutboxRecord]:
        """The outbox's records; at most ``room_bytes`` of texts."""
        records: list[OutboxRecord] = []
        left = room_bytes
        for _ in range(_OUTBOX_BLOCKS_COUNT):
            if address == 0:
                return records
            following, used, _room = _unpack(_THREE, self.read(address, _THREE.size), 0)
            left -= used
            if left < 0:
                break
            _parse_records(self.read(address + _THREE.size, used), records)
            address = following
        raise CrashError("the guest's outbox is larger than its limits allow, or runs in a circle")

    def settle_account(self) -> None:
        """Judge the call that has ended by the same limits as at a tick: many short ones may have had none."""
        if self.stop is None and self._cpu_left_ns < 0:
            self.stop = Stop("cpu-exceeded", time.monotonic())
        elif self.stop is None and time.monotonic() > self._wall_deadline_s:
            self.stop = Stop("time-exceeded", time.monotonic())

    def at_tick(self) -> Verdict:
        """What becomes of the guest, which came back at a tick."""
        now_s = time.monotonic()
        if self.stop is None:
            used_ns = time.thread_time_ns() - self._entered_ns
            if used_ns > self._cpu_left_ns:
                self.stop = Stop("cpu-exceeded", now_s)
            elif now_s > self._wall_deadline_s:
                self.stop = Stop("time-exceeded", now_s)
            else:
                return Verdict.YIELD if used_ns >= self._yield_after_ns else Verdict.GO_ON
        if now_s - self.stop.at_s < HARD_AFTER_S:
            ctypes.memmove(self._base + self._state_address + abi.INTERRUPT_OFFSET, b"\1\0\0\0", 4)
            return Verdict.GO_ON
        return Verdict.END

    def request_stop(self, reason: str) -> None:
        """Make a running guest stop soon; from any thread."""
        if self.stop is None:
            self.stop = Stop(reason, time.monotonic())

    def _export(self, index: int) -> Any:
        extern = capi.Extern()
        name, length = capi.new_pointer(), ctypes.c_size_t()
        if not capi.instance_export(
            self._context,
            ctypes.byref(self._instance),
            index,
            ctypes.byref(name),
            ctypes.byref(length),
            ctypes.byref(extern),
        ):
            raise CrashError(f"the guest has no export {index}")
        return extern

    def _check(self, error: int | None) -> None:
        if error:
            raise CrashError(capi.take_error(error))
        if self._trap.value:
            address, self._trap.value = self._trap.value, None
            raise CrashError(capi.take_trap(address))


_isolates: dict[int, Isolate] = {}
"""Those that are open: memory that somebody must give back."""


def _unpack(layout: struct.Struct, data: bytes | memoryview, at: int) -> tuple[int, ...]:
    return layout.unpack_from(data, at)


def _parse_records(block: bytes, to: list[OutboxRecord]) -> None:
    at, end = 0, len(block)
    data = block if end <= _COPY_BYTES_MAX else memoryview(block)
    while at < end:
        if end - at < _THREE.size:
            raise CrashError("a record of the guest's outbox is cut off")
        kind, tag, count = _unpack(_THREE, data, at)
        at += _THREE.size
        if count > 4 or at + 4 * count > end:
            raise CrashError("a record of the guest's outbox is malformed")
        sizes = _unpack(_SIZES[count], data, at)
        at += 4 * count
        if at + sum(sizes) > end:
            raise CrashError("a record of the guest's outbox is cut off")
        texts: list[bytes | memoryview] = []
        for size in sizes:
            texts.append(data[at : at + size])
            at += size
        to.append((kind, tag, texts))
