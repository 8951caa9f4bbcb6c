"""A script's compiled form, and where it comes from: one compilation sandbox for each module, never the run's own.

Parsers are attack surface, so the host never parses a tool's source; what a compilation leaves is bytecode that only
runs of the same script read, and the names that it imports.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from keelbox_sandbox import codec
from keelbox_sandbox.contract import FailureCode, Limits, ScriptError

from .abi import Phase
from .engine import Engine
from .failure import RunFailure, from_crash, from_report, unmakeable
from .header import start_header
from .isolate import CrashError, Isolate

__all__ = ["Module", "Program", "ProgramCache", "check_size", "compile_module", "export_names", "source_bytes"]

_PUBLIC = frozenset({"system/http", "system/agent", "system/log", "system/tools"})

T = TypeVar("T")

_EXPANSION = 16
"""Bytecode may be larger than its source, for sources of many short statements; measured up to 9 times."""


@dataclass(frozen=True, slots=True)
class Module:
    """One compiled module."""

    bytecode: bytes
    imports: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """What it imports of the tool's own files."""
        return tuple(name for name in self.imports if name not in _PUBLIC)


@dataclass(slots=True)
class Program:
    """All modules of a script, as start() wants them: the entry last."""

    modules_count: int
    source_bytes: int
    blob: bytes
    is_quick: bool = False
    """Its last guest call was over before it would have held up the event loop."""
    threaded_calls_count: int = 0
    """Guest calls that are to begin in a worker thread, because one before took long."""


class ProgramCache:
    """Programs by the script's digest, the least recently used leaving first."""

    def __init__(self, room_bytes: int) -> None:
        self._room_bytes = room_bytes
        self._used_bytes = 0
        self._programs: OrderedDict[str, Program] = OrderedDict()

    def get(self, digest: str) -> Program | None:
        """The program, None if it is not there."""
        program = self._programs.get(digest)
        if program is not None:
            self._programs.move_to_end(digest)
        return program

    def put(self, digest: str, program: Program) -> None:
        """Keep a program."""
        if digest in self._programs:
            return
        self._programs[digest] = program
        self._used_bytes += len(program.blob)
        while self._used_bytes > self._room_bytes and len(self._programs) > 1:
            _, dropped = self._programs.popitem(last=False)
            self._used_bytes -= len(dropped.blob)


def source_bytes(source: str) -> int:
    """What a module's source counts for ``source_kib``."""
    return len(source.encode("utf-8", "surrogatepass"))


def check_size(modules_count: int, size: int, limits: Limits) -> None:
    """Hold ``source_kib`` and ``modules_count``.

    Raises:
        ScriptError: over one of them.
    """
    if modules_count > limits.modules_count:
        raise ScriptError(
            FailureCode.LOAD_FAILED,
            f"the tool has {modules_count} modules, more than {limits.modules_count} (modules_count)",
            hint="join small files, or ask for a higher modules_count",
        )
    if size > limits.source_kib * 1024:
        raise ScriptError(
            FailureCode.LOAD_FAILED,
            f"the tool's source is {size} bytes, more than {limits.source_kib:g} KiB (source_kib)",
            hint="move data out of the source, or ask for a higher source_kib",
        )


def compile_module(
    engine: Engine,
    name: str,
    source: str,
    limits: Limits,
    cpu_s: float,
    deadline_s: float,
    started: Callable[[Isolate], None],
) -> tuple[Module | RunFailure, float]:
    """Compile one module in a sandbox of its own. Blocks; runs in a guest thread.

    Returns:
        The module or why there is none, and the processor seconds that it took.
    """
    if name.endswith(".json"):
        try:
            codec.decode(source)
        except codec.CodecError as error:
            return RunFailure(code=FailureCode.LOAD_FAILED, message=f"{name} is not strict JSON: {error}"), 0.0
        source = f"export default JSON.parse({json.dumps(source)});"
    if ":" in name:  # the stdlib's own modules have one
        return RunFailure(code=FailureCode.LOAD_FAILED, message=f"the module name {name[:80]!r} holds a colon"), 0.0
    text = source.encode("utf-8", "replace")
    if b"\0" in text:
        return RunFailure(code=FailureCode.LOAD_FAILED, message=f"{name} holds a NUL character"), 0.0
    header = start_header(limits).pack(bytes(32), 0, 0)

    def work(isolate: Isolate) -> Module | RunFailure:
        isolate.write_buffer(header, name.encode("utf-8", "replace") + b"\0", text + b"\0")
        state = isolate.enter("compile", isolate.buffer_address, isolate.room_bytes, len(text))
        if state.phase == Phase.DONE:
            bytecode, imports = isolate.read_buffer(*state.part_bytes[:2])
            return Module(bytecode, _import_names(imports))
        return from_report(state, isolate.read_buffer(*state.part_bytes), isolate.stop, limits, (name,))

    return _in_sandbox(
        engine, limits, work, started, buffer_bytes=len(text) * _EXPANSION, room_bytes=0, cpu_s=cpu_s,
        deadline_s=deadline_s,
    )  # fmt: skip


def _import_names(text: bytes) -> tuple[str, ...]:
    """The recorded names, one a line. The guest refuses others; but it is not the wall, so the rule is held again."""
    names = tuple(text.decode("utf-8", "replace").split("\n")[:-1])
    for name in names:
        if not {"", ".", ".."}.isdisjoint(name.split("/")) or any(letter in name for letter in "\\:\0"):
            raise CrashError("the guest named a module outside the tool's folder")
    return names


def export_names(
    engine: Engine,
    program: Program,
    limits: Limits,
    cpu_s: float,
    deadline_s: float,
    started: Callable[[Isolate], None],
) -> tuple[tuple[str, ...] | RunFailure, float]:
    """What the entry exports, without running anything. Blocks; runs in a guest thread.

    Returns:
        The names or why there are none, and the processor seconds that it took.
    """
    header = start_header(limits).pack(bytes(32), program.modules_count, 0)

    def work(isolate: Isolate) -> tuple[str, ...] | RunFailure:
        isolate.write_buffer(header, program.blob)
        state = isolate.enter("inspect", isolate.buffer_address, isolate.room_bytes)
        if state.phase != Phase.DONE:
            return from_report(state, isolate.read_buffer(*state.part_bytes), isolate.stop, limits, ())
        try:
            return tuple(str(name) for name in codec.decode(isolate.read_buffer(state.part1_bytes)[0]))
        except codec.CodecError as error:
            raise CrashError(str(error)) from None

    return _in_sandbox(
        engine, limits, work, started, buffer_bytes=limits.buffer_bytes, room_bytes=len(header) + len(program.blob) + 1,
        cpu_s=cpu_s, deadline_s=deadline_s,
    )  # fmt: skip


def _in_sandbox(
    engine: Engine,
    limits: Limits,
    work: Callable[[Isolate], T | RunFailure],
    started: Callable[[Isolate], None],
    *,
    buffer_bytes: int,
    room_bytes: int,
    cpu_s: float,
    deadline_s: float,
) -> tuple[T | RunFailure, float]:
    """Do some work in an isolate of its own; a crash is a failure like others."""
    try:
        isolate = Isolate(
            engine, heap_bytes=limits.heap_bytes, buffer_bytes=buffer_bytes, outbox_bytes=0, room_bytes=room_bytes,
            cpu_s=cpu_s, wall_deadline_s=deadline_s,
        )  # fmt: skip
    except CrashError as error:
        return unmakeable(error), 0.0
    started(isolate)
    try:
        result = work(isolate)
    except CrashError as error:
        result = from_crash(error, isolate.state(), isolate.stop, limits)
    finally:
        isolate.close()
    return result, isolate.cpu_ns / 1e9
