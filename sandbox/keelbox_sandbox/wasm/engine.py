"""The engine: wasmtime configured for untrusted guests, the guest module, and the clock that stops runs.

One engine serves the process. It holds what all runs share and none can change: the compiled guest and the epoch.

The epoch is wasmtime's hard stop: compiled code compares a counter at each function entry and loop turn, inside the
engine's built-ins as anywhere. A thread raises the counter every `TICK_S` while guests run; at each tick the running
guest comes back to the thread that runs it, which decides with exact processor and wall time whether it may go on
(`Isolate.at_tick`). So a run that is merely kept waiting by others is never cut for it, and no code of the host runs
inside a guest call, where an exception (of a signal handler, say) would have nowhere to go.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import wasmtime

from . import abi, capi, code_cache

__all__ = ["Engine", "GuestMissingError", "get_engine", "guest_path", "wasmtime_version"]

TICK_S = 0.005
"""Between two ticks: the longest that a guest call holds the event loop is this and `isolate.YIELD_AFTER_S`."""

IDLE_TICKS_COUNT = 100
"""Ticks without a guest after which the thread ends; starting one for each run would cost more."""

WASM_STACK_BYTES = 10 * 1024 * 1024
"""Native stack of one guest call; each has a stack of its own, given back when the call ends. The guest's own limit
(``stack_kib``) is counted on its C stack in linear memory; of deep recursion in the engine's parsers, 512 KiB there are
up to 9 MiB here (the recursion tests)."""

SETTLE_S = 0.5
"""The ticking thread ends within a tick, unless it is needed again."""


class GuestMissingError(RuntimeError):
    """``guest.wasm`` is not there: this is a checkout that was not built."""


def guest_path() -> Path:
    """The snapshotted guest module."""
    return Path(__file__).parent / "guest" / "build" / "guest.wasm"


def wasmtime_version() -> str:
    """The installed version, from the name of its metadata's folder (importlib.metadata costs 15 ms of each start)."""
    package = Path(wasmtime.__file__).parent
    names = [path.name for path in package.parent.glob("wasmtime-*.dist-info")]
    return names[0].removeprefix("wasmtime-").removesuffix(".dist-info") if names else "unknown"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are in every fresh instance."""

    memory_bytes: int
    """Initial size of linear memory; the exchange buffer starts here."""
    state_address: int
    memory_index: int
    functions: dict[str, int]
    """Index of each exported function."""


class Engine:
    """See the module's text. Made once by `get_engine`."""

    def __init__(self) -> None:
        config = wasmtime.Config()
        config.strategy = "cranelift"
        config.epoch_interruption = True
        # The stack of a call, with room for what the host's own functions take of it.
        capi.config_async_stack_size(_address(config), WASM_STACK_BYTES + 1024 * 1024)
        config.max_wasm_stack = WASM_STACK_BYTES
        config.memory_init_cow = True
        config.wasm_threads = False
        config.wasm_memory64 = False
        config.wasm_multi_memory = False
        config.wasm_component_model = False
        self.engine = wasmtime.Engine(config)
        self.address = _address(self.engine)
        self.code_from = ""
        """``cache`` or ``compiled``: where this process got the guest's code from."""
        self.module = self._load()
        self._linker = wasmtime.Linker(self.engine)
        self._pre = self._linker.instantiate_pre(self.module)
        self.pre_address = _address(self._pre)
        self.layout = self._measure()
        self._ticker = _Ticker(self.address)
        self.entered = self._ticker.entered
        self.left = self._ticker.left

    def settle(self) -> None:
        """End the ticking thread if no guest runs; it starts again with the next guest call."""
        self._ticker.settle()

    def _load(self) -> wasmtime.Module:
        path = guest_path()
        try:
            wasm = path.read_bytes()
        except FileNotFoundError:
            raise GuestMissingError(
                f"the guest is not built: {path.name} is missing\n\nhint: in a checkout, run `pip install -e .` "
                "or `python sandbox/keelbox_sandbox/wasm/build.py`"
            ) from None
        name = code_cache.name_for(wasm, wasmtime_version())
        folder = code_cache.find_cache_folder()
        code = code_cache.load(folder, name) if folder is not None else None
        if code is not None:
            try:
                self.code_from = "cache"
                return wasmtime.Module.deserialize(self.engine, code)
            except wasmtime.WasmtimeError:
                pass  # made by an engine that was configured otherwise: made again
        self.code_from = "compiled"
        module = wasmtime.Module(self.engine, wasm)
        if folder is not None:
            code_cache.store(folder, name, bytes(module.serialize()))
        return module

    def _measure(self) -> Layout:
        store = wasmtime.Store(self.engine)
        store.set_epoch_deadline(1 << 40)
        instance = self._pre.instantiate(store)
        exports = instance.exports(store)
        memory, state_address = exports["memory"], exports["state_address"]
        assert isinstance(memory, wasmtime.Memory) and isinstance(state_address, wasmtime.Func)  # noqa: S101
        size = memory.data_len(store)
        address = int(state_address(store)) & 0xFFFFFFFF
        names = [export.name for export in self.module.exports]
        if address + abi.STATE_BYTES > size:
            raise RuntimeError("the guest's state block is outside its memory")
        version = abi.State.unpack(bytes(memory.read(store, address, address + abi.STATE_BYTES))).version
        if version != abi.ABI_VERSION:
            raise RuntimeError(
                f"the guest speaks version {version} of the interface, the host {abi.ABI_VERSION}: build it again"
            )
        return Layout(
            memory_bytes=size,
            state_address=address,
            memory_index=names.index("memory"),
            functions={name: names.index(name) for name in ("start", "resume", "compile", "inspect")},
        )


def _address(owner: Any) -> int:
    import ctypes

    return int(ctypes.cast(owner.ptr(), ctypes.c_void_p).value or 0)


class _Ticker:
    """Raises the epoch while guests run, in a thread that ends when none has run for a while."""

    def __init__(self, engine_address: int) -> None:
        self._engine_address = engine_address
        self._lock = threading.Lock()
        self._running_count = 0
        self._thread: threading.Thread | None = None
        self._hurry = threading.Event()

    def entered(self) -> None:
        """A guest call begins."""
        with self._lock:
            self._running_count += 1
            if self._thread is None:
                self._hurry.clear()
                self._thread = threading.Thread(target=self._tick, name="keelbox-epoch", daemon=True)
                self._thread.start()

    def left(self) -> None:
        """A guest call ended."""
        with self._lock:
            self._running_count -= 1

    def settle(self) -> None:
        """End the thread now if no guest runs; other sandboxes of the process may still need it."""
        with self._lock:
            thread = self._thread if self._running_count == 0 else None
            if thread is not None:
                self._hurry.set()
        if thread is not None:
            thread.join(SETTLE_S)  # a run of another sandbox that begins just now keeps it

    def _tick(self) -> None:
        idle_count = 0
        while True:
            self._hurry.wait(TICK_S)
            with self._lock:
                idle_count = 0 if self._running_count else idle_count + 1
                if idle_count and (idle_count >= IDLE_TICKS_COUNT or self._hurry.is_set()):
                    self._thread = None
                    return
                self._hurry.clear()
            capi.increment_epoch(self._engine_address)


def _forget() -> None:
    """In a forked child: the threads stayed behind, so the engine is made anew (from the code cache)."""
    global _engine, _engine_lock
    _engine, _engine_lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)

_engine: Engine | None = None
_engine_lock = threading.Lock()


def get_engine() -> Engine:
    """The process's engine, made at the first call (0.5 ms from the code cache, half a second without)."""
    global _engine
    with _engine_lock:
        if _engine is None:
            _engine = Engine()
        return _engine
