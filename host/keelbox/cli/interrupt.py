"""The one place where signals meet the event loop: Ctrl-C cancels the work, which can still say what it has done."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.abc import TaskStatus

__all__ = ["run_interruptible"]

T = TypeVar("T")


def run_interruptible(work: Callable[[], Awaitable[T]]) -> T | None:
    """Run async work to its end in a fresh event loop.

    Returns:
        What the work returns, or None if SIGINT or SIGTERM came first: then it was cancelled, and has cleaned up. A
        second signal does what it does by default.
    """
    return anyio.run(_guarded, work)


async def _guarded(work: Callable[[], Awaitable[T]]) -> T | None:
    result: T | None = None
    fault: Exception | None = None
    async with anyio.create_task_group() as group:
        await group.start(_cancel_on_signal, group.cancel_scope)
        try:
            result = await work()
        except Exception as error:  # raised below, outside of the group, which would wrap it
            fault = error
        group.cancel_scope.cancel()
    if fault is not None:
        raise fault
    return result


async def _cancel_on_signal(scope: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()
            return
