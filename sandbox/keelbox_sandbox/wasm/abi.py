"""The layout that guest.h gives its state block and start header; a test compares both with the header file."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import NamedTuple

__all__ = ["ABI_VERSION", "STATE_BYTES", "Failure", "Phase", "Record", "StartHeader", "State"]

ABI_VERSION = 1

_STATE = struct.Struct("<21I")
STATE_BYTES = _STATE.size
INTERRUPT_OFFSET = 8
"""Where the host writes 1 to make the guest stop at its next poll."""

CLOCK_OFFSET = 76
"""Where the host writes the time: microseconds since 1970, whole milliseconds, as two u32."""

_LIMITS = struct.Struct("<12I")
SEED_BYTES = 32
_SIZES = struct.Struct("<2I")
HEADER_BYTES = _LIMITS.size + SEED_BYTES + _SIZES.size


class Phase(IntEnum):
    """enum phase."""

    NEW = 0
    SUSPENDED = 1
    DONE = 2
    FAILED = 3


class Failure(IntEnum):
    """enum failure."""

    THREW = 1
    LOAD = 2
    NO_EXEC = 3
    NOT_CLONEABLE = 4
    RETURN_TOO_LARGE = 5
    DETACHED_OP = 6
    UNHANDLED = 7
    DEADLOCK = 8
    INTERRUPTED = 9
    MEMORY = 10
    DICTIONARY = 11
    SESSION = 12


class Record(IntEnum):
    """enum record."""

    LOG = 1
    WRITE = 2
    PROGRESS = 3
    REFUSED = 4


class State(NamedTuple):
    """struct state, as read. Every field is a u32 that the guest wrote: none of it is trusted.

    A named tuple and not a dataclass: it is made twice a run, and a frozen dataclass takes 4 µs for it.
    """

    version: int
    phase: int
    interrupt: int
    buffer_address: int
    op_kind: int
    op_number: int
    op_head_bytes: int
    op_body_bytes: int
    part1_bytes: int
    part2_bytes: int
    part3_bytes: int
    part4_bytes: int
    failure: int
    outbox_address: int
    heap_bytes: int
    heap_peak_bytes: int
    memory_refusals_count: int
    requests_count: int
    logs_dropped_count: int
    clock_low: int
    clock_high: int

    @property
    def part_bytes(self) -> tuple[int, int, int]:
        """Sizes of the texts in the buffer."""
        return self.part1_bytes, self.part2_bytes, self.part3_bytes

    @classmethod
    def unpack(cls, data: bytes) -> State:
        """Read a state block."""
        return cls._make(_STATE.unpack(data))


@dataclass(frozen=True, slots=True, kw_only=True)
class StartHeader:
    """struct start_header: the limits of a run as the guest keeps them, its seed, and the sizes of what follows."""

    heap_bytes: int
    stack_bytes: int
    buffer_bytes: int
    return_bytes: int
    log_bytes: int
    log_lines_count: int
    requests_count: int
    message_bytes: int
    writes_count: int
    staged_bytes: int
    dictionary_bytes: int
    session_bytes: int

    _limits: bytes = field(init=False, default=b"")

    def __post_init__(self) -> None:
        """Pack what is the same in each run, once."""
        object.__setattr__(self, "_limits", _LIMITS.pack(*(getattr(self, name) for name in _LIMIT_NAMES)))

    def pack(self, seed: bytes, modules_count: int, call_bytes: int) -> bytes:
        """The bytes that stand at the start of the buffer."""
        return self._limits + seed + _SIZES.pack(modules_count, call_bytes)


_LIMIT_NAMES = tuple(f.name for f in fields(StartHeader) if f.init)
