"""Worker threads for the guest calls that take long.

Few, and started when they are needed. wasmtime releases the interpreter lock while a guest runs. anyio's own worker
threads are not used because a cancelled call must stop its guest at once, and be waited for.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

import anyio
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled, current_token

__all__ = ["GuestThreads"]

T = TypeVar("T")
GIVE_WAY_EVERY_S = 0.002
TRY_AGAIN_AFTER_S = 0.1


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


async def _end_of(job: _Job) -> None:
    """Wait until the worker has let go of the job, whatever happens: until then what it works on must not be freed.

    A shield does not hold off a bare cancellation of the task (a second Ctrl-C, nested time-outs): the first one is on
    its way out anyway, so further ones add nothing.
    """
    while not job.done.is_set():
        with contextlib.suppress(anyio.get_cancelled_exc_class()), anyio.CancelScope(shield=True):
            await job.done.wait()


class GuestThreads:
    """Runs functions in at most ``count`` threads; a further call waits for a free one."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._open_count = 0
        self._gave_way_s = 0.0
        self._in_vain_s = -TRY_AGAIN_AFTER_S

    def may_try(self) -> bool:
        """Whether a guest call of unknown length may begin on the event loop: not soon after one that took long."""
        return time.monotonic() - self._in_vain_s > TRY_AGAIN_AFTER_S

    def tried_in_vain(self) -> None:
        """A guest call took long on the event loop."""
        self._in_vain_s = time.monotonic()

    async def give_way(self) -> None:
        """Let other tasks run, every other millisecond: runs that ask for nothing would never do so."""
        now_s = time.monotonic()
        if now_s - self._gave_way_s < GIVE_WAY_EVERY_S:
            await checkpoint_if_cancelled()
            return
        await checkpoint()
        self._gave_way_s = time.monotonic()

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
            if not job.claim.acquire(blocking=False):
                stop()
                await _end_of(job)
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
        thread = threading.Thread(target=self._work, name="keelbox-guest", daemon=True)
        thread.start()
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
