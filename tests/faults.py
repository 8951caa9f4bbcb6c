"""Faults put into a guest's linear memory, as a script with full control of it could (SECURITY B27)."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Generator
from contextlib import contextmanager

from keelbox_sandbox.wasm import abi, capi, isolate
from keelbox_sandbox.wasm.isolate import Isolate

__all__ = ["FIELDS", "flip_bits", "live_isolates", "memory_bytes", "poke", "set_field", "spoil_calls", "spoil_state"]

FIELDS = tuple(abi.State._fields)
"""The state block's fields in order, each a u32."""


def live_isolates() -> list[Isolate]:
    """The guests that exist in this process now."""
    return list(isolate._isolates.values())  # pyright: ignore[reportPrivateUsage]


def memory_bytes(guest: Isolate) -> int:
    """Present size of a guest's memory."""
    return int(capi.memory_size(guest._context, guest._memory.of))  # pyright: ignore[reportPrivateUsage]


def poke(guest: Isolate, address: int, data: bytes) -> None:
    """Write into a guest's memory."""
    assert 0 <= address <= address + len(data) <= memory_bytes(guest)
    ctypes.memmove(guest._base + address, data, len(data))  # pyright: ignore[reportPrivateUsage]


def set_field(guest: Isolate, name: str, value: int) -> None:
    """Write a field of the guest's state block."""
    address = guest._state_address + 4 * FIELDS.index(name)  # pyright: ignore[reportPrivateUsage]
    poke(guest, address, (value & 0xFFFFFFFF).to_bytes(4, "little"))


def flip_bits(guest: Isolate, generator: random.Random, count: int) -> None:
    """Flip bits: half of them anywhere, half where the engine's data and first objects are."""
    size = memory_bytes(guest)
    image_bytes = min(size, guest.buffer_address)
    for _ in range(count):
        address = generator.randrange(generator.choice((size, image_bytes)))
        byte = guest.read(address, 1)[0] ^ 1 << generator.randrange(8)
        poke(guest, address, bytes([byte]))


@contextmanager
def spoil_state(spoil: Callable[[Isolate, int], None]) -> Generator[None]:
    """Before each reading of a guest's state, ``spoil(guest, number)``; the first reading has the number 1."""
    original = Isolate.state
    numbers: dict[int, int] = {}

    def spoiled(self: Isolate) -> abi.State:
        number = numbers[id(self)] = numbers.get(id(self), 0) + 1
        spoil(self, number)
        return original(self)

    Isolate.state = spoiled  # type: ignore[method-assign]
    try:
        yield
    finally:
        Isolate.state = original  # type: ignore[method-assign]


@contextmanager
def spoil_calls(spoil: Callable[[Isolate], None]) -> Generator[None]:
    """Before each call into a guest (compile, inspect, start, resume), ``spoil(guest)``."""
    original = Isolate.begin

    def spoiled(self: Isolate, function: str, *arguments: int) -> None:
        spoil(self)
        original(self, function, *arguments)

    Isolate.begin = spoiled  # type: ignore[method-assign]
    try:
        yield
    finally:
        Isolate.begin = original  # type: ignore[method-assign]
