"""The WebAssembly runtime as `keelbox_sandbox.contract.Sandbox`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial

import anyio

from keelbox_sandbox import codec
from keelbox_sandbox.contract import (
    Call,
    Event,
    FailureCode,
    Inspection,
    Limits,
    Perform,
    RunResult,
    Script,
    ScriptError,
)

from .engine import Engine, get_engine
from .failure import RunFailure, from_stop
from .isolate import Isolate, Stop
from .program import Module, Program, ProgramCache, check_size, compile_module, export_names, source_bytes
from .run import Run, encode_call
from .threads import GuestThreads

__all__ = ["WasmSandbox"]

GUEST_THREADS_COUNT = 32
"""Guest calls under way at once. Far more than cores, so that scripts that spin until their limit leave room for the
others: the operating system shares the cores among the threads. Waiting runs need no thread."""

PROGRAMS_ROOM_BYTES = 64 * 1024 * 1024


class WasmSandbox:
    """Runs JavaScript tools, each run in a fresh instance of quickjs-ng.

    Safe to share between the tasks of one event loop. Close it with `aclose` (or use it as an async context manager):
    its threads end then. It does not survive a fork: a child process makes its own.

    Args:
        threads_count: guest calls that take long and may run at once; more wait.

    Raises:
        RuntimeError: used after `aclose`, or in a forked child.
    """

    name = "wasm"

    def __init__(self, *, threads_count: int = GUEST_THREADS_COUNT) -> None:
        self._threads = GuestThreads(threads_count)
        self._programs = ProgramCache(PROGRAMS_ROOM_BYTES)
        self._compiling: dict[str, anyio.Lock] = {}
        self._engine_or_none: Engine | None = None
        self._process_id = os.getpid()
        self._open_count = 0
        self._closed: anyio.Event | None = None
        """Set when the last open call has ended; None until `aclose`."""

    async def __aenter__(self) -> WasmSandbox:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Take no further call, wait until the open ones have ended, and end this sandbox's threads."""
        if self._closed is None:
            self._closed = anyio.Event()
        if self._open_count:
            await self._closed.wait()
        await anyio.to_thread.run_sync(self._threads.close)
        if self._engine_or_none is not None:
            await anyio.to_thread.run_sync(self._engine_or_none.settle)

    @contextmanager
    def _in_use(self) -> Generator[None]:
        if self._closed is not None:
            raise RuntimeError("the sandbox is closed; make a new one")
        if os.getpid() != self._process_id:
            raise RuntimeError("a sandbox does not survive a fork; make a new one in the child process")
        self._open_count += 1
        try:
            yield
        finally:
            self._open_count -= 1
            if self._closed is not None and not self._open_count:
                self._closed.set()

    async def _engine(self) -> Engine:
        if self._engine_or_none is None:
            # In a thread: without the code cache it takes most of a second.
            self._engine_or_none = await self._threads.call(get_engine, lambda: None)
        return self._engine_or_none

    async def gather(self, entry: str, read: Callable[[str], str | None], limits: Limits) -> Script:
        """Collect the modules that ``entry`` reaches; see the contract."""
        with self._in_use():
            compiled: dict[str, Module] = {}
            sources: dict[str, str] = {}
            wanted = [(entry, "")]
            deadline_s = time.monotonic() + limits.wall_s
            cpu_s = 0.0
            size = 0
            while wanted:
                name, importer = wanted.pop()
                if name in sources:
                    continue
                source = read(name)
                if source is None:
                    raise ScriptError(
                        FailureCode.LOAD_FAILED,
                        f"{importer} imports {name}, which does not exist" if importer else f"{name} does not exist",
                        hint="names are exact, capitals and ending included",
                    )
                sources[name] = source
                size += source_bytes(source)
                check_size(len(sources), size, limits)
                result, used_s = await self._compiled(name, source, limits, limits.cpu_s - cpu_s, deadline_s)
                cpu_s += used_s
                compiled[name] = _accepted(result, cpu_s)
                wanted += [(imported, name) for imported in reversed(compiled[name].files)]
            script = Script(entry=entry, modules=sources, compile_cpu_s=cpu_s)
            self._programs.put(script.digest, _program(script, compiled))
            return script

    async def inspect(self, script: Script, limits: Limits) -> Mapping[str, Inspection]:
        """Parse each module and say what it imports and exports; see the contract."""
        with self._in_use():
            check_size(len(script.modules), sum(map(source_bytes, script.modules.values())), limits)
            deadline_s = time.monotonic() + limits.wall_s
            cpu_s = 0.0
            compiled: dict[str, Module] = {}
            for name, source in script.modules.items():
                result, used_s = await self._compiled(name, source, limits, limits.cpu_s - cpu_s, deadline_s)
                cpu_s += used_s
                compiled[name] = _accepted(result, cpu_s)
            found: dict[str, Inspection] = {}
            for name in script.modules:
                program = _program(Script(entry=name, modules=script.modules), compiled)
                work = _Work()
                left_s = max(0.0, limits.cpu_s - cpu_s)
                names, used_s = await self._threads.call(
                    partial(export_names, await self._engine(), program, limits, left_s, deadline_s, work.adopt),
                    work.stop,
                )
                cpu_s += used_s
                if isinstance(names, RunFailure):
                    raise _script_error(names)
                found[name] = Inspection(imports=compiled[name].imports, exports=names)
            return found

    async def run(
        self,
        script: Script,
        call: Call,
        limits: Limits,
        perform: Perform,
        observe: Callable[[Event], None] | None = None,
    ) -> RunResult:
        """Run a script once in a fresh sandbox; see the contract."""
        with self._in_use():
            run = Run(await self._engine(), self._threads, script, limits, perform, observe)
            try:
                data = encode_call(call)
            except codec.CodecError as error:
                return run.failed(
                    RunFailure(code=FailureCode.HOST_ERROR, message=f"the call's data is not JSON: {error}")
                )
            program = self._programs.get(script.digest)
            try:
                if program is None:
                    program = await self._compile(script, limits, run)
                else:
                    check_size(program.modules_count, program.source_bytes, limits)
            except ScriptError as error:
                return run.failed(
                    RunFailure(code=error.code, message=error.message, hint=error.hint, location=error.location)
                )
            return await run.execute(program, data)

    async def _compile(self, script: Script, limits: Limits, run: Run) -> Program:
        check_size(len(script.modules), sum(map(source_bytes, script.modules.values())), limits)
        if script.entry not in script.modules:
            raise ScriptError(FailureCode.LOAD_FAILED, f"the entry {script.entry} is not among the script's modules")
        lock = self._compiling.setdefault(script.digest, anyio.Lock())
        try:
            try:
                with anyio.fail_after(max(0.0, run.deadline_s - time.monotonic())):
                    await lock.acquire()
            except TimeoutError:
                raise _script_error(from_stop(Stop("time-exceeded", run.deadline_s), limits)) from None
            try:
                program = self._programs.get(script.digest)
                if program is not None:
                    return program
                compiled: dict[str, Module] = {}
                for name, source in script.modules.items():
                    left_s = limits.cpu_s - run.cpu_s
                    result, used_s = await self._compiled(name, source, limits, left_s, run.deadline_s)
                    run.cpu_s += used_s
                    compiled[name] = _accepted(result, run.cpu_s)
                for name, module in compiled.items():
                    for imported in module.files:
                        if imported not in compiled:
                            raise ScriptError(
                                FailureCode.LOAD_FAILED, f"{name} imports {imported}, which does not exist"
                            )
                program = _program(script, compiled)
                self._programs.put(script.digest, program)
                return program
            finally:
                lock.release()
        finally:
            if not lock.statistics().tasks_waiting:
                self._compiling.pop(script.digest, None)

    async def _compiled(
        self, name: str, source: str, limits: Limits, cpu_s: float, deadline_s: float
    ) -> tuple[Module | RunFailure, float]:
        engine = await self._engine()
        work = _Work()
        return await self._threads.call(
            lambda: compile_module(engine, name, source, limits, max(0.0, cpu_s), deadline_s, work.adopt), work.stop
        )


class _Work:
    """A guest call without a run: what cancellation needs to stop it."""

    def __init__(self) -> None:
        self._isolate: Isolate | None = None
        self._stopped = False

    def adopt(self, isolate: Isolate) -> None:
        self._isolate = isolate
        if self._stopped:
            isolate.request_stop("cancelled")

    def stop(self) -> None:
        self._stopped = True
        if self._isolate is not None:
            self._isolate.request_stop("cancelled")


def _script_error(failure: RunFailure, cpu_s: float = 0.0) -> ScriptError:
    return ScriptError(failure.code, failure.message, hint=failure.hint, location=failure.location, cpu_s=cpu_s)


def _accepted(result: Module | RunFailure, cpu_s: float) -> Module:
    if isinstance(result, RunFailure):
        raise _script_error(result, cpu_s)
    return result


def _program(script: Script, compiled: Mapping[str, Module]) -> Program:
    names = [name for name in script.modules if name != script.entry] + [script.entry]
    blob = b"".join(len(compiled[name].bytecode).to_bytes(4, "little") + compiled[name].bytecode for name in names)
    return Program(len(names), sum(map(source_bytes, script.modules.values())), blob)
