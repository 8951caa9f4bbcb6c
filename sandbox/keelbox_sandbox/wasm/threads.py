"""Worker threads for guest calls: few, of a known stack size, started when they are needed.

A guest call may run for seconds, so it never runs on the event loop; wasmtime releases the interpreter lock while it
does. anyio's own worker threads are not used because a guest's stack check needs a thread whose stack size we know, and
because their hand-over costs a third more.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

import anyio
from anyio.lowlevel import current_token

from .engine import THREAD_STACK_BYTES

__all__ = ["GuestThreads"]

T = TypeVar("T")
_start_lock = threading.Lock()


class _Job:
    __slots__ = ("claim", "done", "error", "function", "notify", "result")

    def __init__(self, function: Callable[[], Any], notify: Callable[..., Any]) -> None:
        self.function = function
        self.notify = notify
        self.claim = threading.Lock()
        """Held by the one who got to the job first: a worker, or the caller who gave it up."""
        self.done = anyio.Event()
        self.result: Any = None
        self.error: BaseException | None = None


class GuestThreads:
    """Runs functions in at most ``count`` threads; a further call waits for a free one."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._open_count = 0

    async def call(self, function: Callable[[], T], stop: Callable[[], None]) -> T:
        """Run ``function`` in a worker thread and give its result.

        Cancellation does not leave the function running: if it has begun, ``stop`` is called and its end is awaited
        before the cancellation goes on; if it has not, it never begins.
        """
        native: Any = current_token().native_token
        job = _Job(function, getattr(native, "call_soon_threadsafe", None) or native.run_sync_soon)
        self._open_count += 1
        if self._open_count > len(self._threads) and len(self._threads) < self._count:
            self._start()
        self._queue.put(job)
        try:
            await job.done.wait()
        except BaseException:
            if not job.claim.acquire(blocking=False) and not job.done.is_set():
                stop()
                with anyio.CancelScope(shield=True):
                    await job.done.wait()
            raise
        finally:
            self._open_count -= 1
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def close(self) -> None:
        """End the threads; waits for what they are doing."""
        threads, self._threads = self._threads, []
        for _ in threads:
            self._queue.put(None)
        for thread in threads:
            thread.join()

    def _start(self) -> None:
        with _start_lock:  # the size is a setting of the process
            before = threading.stack_size(THREAD_STACK_BYTES)
            try:
                thread = threading.Thread(target=self._work, name="keelbox-guest", daemon=True)
                thread.start()
            finally:
                threading.stack_size(before)
        self._threads.append(thread)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            if not job.claim.acquire(blocking=False):
                continue
            try:
                job.result = job.function()
            except BaseException as error:
                job.error = error
            with contextlib.suppress(RuntimeError):  # the event loop is closed: nobody waits any more
                job.notify(job.done.set)
            del job
