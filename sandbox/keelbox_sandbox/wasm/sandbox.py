"""The WebAssembly runtime as `keelbox_sandbox.contract.Sandbox`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
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
    its threads end then.

    Args:
        threads_count: guest calls that may run at once; more wait.
    """

    name = "wasm"

    def __init__(self, *, threads_count: int = GUEST_THREADS_COUNT) -> None:
        self._threads = GuestThreads(threads_count)
        self._programs = ProgramCache(PROGRAMS_ROOM_BYTES)
        self._compiling: dict[str, anyio.Lock] = {}
        self._engine_or_none: Engine | None = None

    async def __aenter__(self) -> WasmSandbox:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End this sandbox's threads. Runs must have ended."""
        self._threads.close()
        if self._engine_or_none is not None:
            self._engine_or_none.settle()

    async def _engine(self) -> Engine:
        if self._engine_or_none is None:
            # In a thread: without the code cache it takes most of a second.
            self._engine_or_none = await self._threads.call(get_engine, lambda: None)
        return self._engine_or_none

    async def gather(self, entry: str, read: Callable[[str], str | None], limits: Limits) -> Script:
        """Collect the modules that ``entry`` reaches; see the contract."""
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
                    location=(importer, 1, 1) if importer else None,
                )
            sources[name] = source
            size += source_bytes(source)
            check_size(len(sources), size, limits)
            result, used_s = await self._compiled(name, source, limits, limits.cpu_s - cpu_s, deadline_s)
            cpu_s += used_s
            compiled[name] = _accepted(result)
            wanted += [(imported, name) for imported in reversed(compiled[name].files)]
        script = Script(entry=entry, modules=sources)
        self._programs.put(script.digest, _program(script, compiled))
        return script

    async def inspect(self, script: Script, limits: Limits) -> Mapping[str, Inspection]:
        """Parse each module and say what it imports and exports; see the contract."""
        check_size(len(script.modules), sum(map(source_bytes, script.modules.values())), limits)
        deadline_s = time.monotonic() + limits.wall_s
        cpu_s = 0.0
        compiled: dict[str, Module] = {}
        for name, source in script.modules.items():
            result, used_s = await self._compiled(name, source, limits, limits.cpu_s - cpu_s, deadline_s)
            cpu_s += used_s
            compiled[name] = _accepted(result)
        found: dict[str, Inspection] = {}
        for name in script.modules:
            program = _program(Script(entry=name, modules=script.modules), compiled)
            work = _Work()
            names = await self._threads.call(
                partial(export_names, await self._engine(), program, limits, deadline_s, work.adopt), work.stop
            )
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
        run = Run(await self._engine(), self._threads, script, limits, perform, observe)
        try:
            data = encode_call(call)
        except codec.CodecError as error:
            return run.failed(RunFailure(code=FailureCode.HOST_ERROR, message=f"the call's data is not JSON: {error}"))
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
                    compiled[name] = _accepted(result)
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


def _script_error(failure: RunFailure) -> ScriptError:
    return ScriptError(failure.code, failure.message, hint=failure.hint, location=failure.location)


def _accepted(result: Module | RunFailure) -> Module:
    if isinstance(result, RunFailure):
        raise _script_error(result)
    return result


def _program(script: Script, compiled: Mapping[str, Module]) -> Program:
    names = [name for name in script.modules if name != script.entry] + [script.entry]
    blob = b"".join(len(compiled[name].bytecode).to_bytes(4, "little") + compiled[name].bytecode for name in names)
    return Program(len(names), sum(map(source_bytes, script.modules.values())), blob)
