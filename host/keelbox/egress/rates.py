"""How many requests leave: per tool and per tenant within a minute, and at once.

Counted in this process's memory, on the monotonic clock: several processes each have their own counts.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from keelbox.egress.faults import EgressCode, EgressError
from keelbox.egress.operator import OperatorEgress

__all__ = ["WINDOW_S", "RequestGate", "Sender"]

WINDOW_S = 60.0
"""The window slides: at no time were more requests than the limit made within the 60 s before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """For whom requests are made."""

    tool: str
    tenant: str


@dataclass(slots=True)
class _Window:
    """The times of one sender's requests within the last `WINDOW_S`, oldest first; never more than its limit."""

    times_s: deque[float] = field(default_factory=deque[float])

    def free_in_s(self, now_s: float, most_count: int) -> float:
        """How long until another request fits; 0: now."""
        while self.times_s and now_s - self.times_s[0] >= WINDOW_S:
            self.times_s.popleft()
        if len(self.times_s) < most_count:
            return 0
        return self.times_s[len(self.times_s) - most_count] + WINDOW_S - now_s


class RequestGate:
    """Counts the requests of one process. For one event loop.

    Args:
        operator: the limits.
        clock: seconds that only go forward.

    Attributes:
        slots: hold one while a request is under way.
    """

    def __init__(self, operator: OperatorEgress, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._operator = operator
        self._clock = clock
        self._windows: dict[tuple[str, str, str], _Window] = {}
        self._swept_s = clock()
        self.slots = anyio.Semaphore(operator.concurrent_count)

    @property
    def counts_count(self) -> int:
        """How many counts are kept: one for each tool and tenant of the last minute or two."""
        return len(self._windows)

    def admit(self, sender: Sender) -> None:
        """Count a request.

        Raises:
            EgressError: ``too-many-requests``: it would be beyond a limit, and is not counted.
        """
        now_s = self._clock()
        self._sweep(now_s)
        windows: list[_Window] = []
        for kind, name, most_count in (
            ("tool", sender.tool, self._operator.tool_requests_per_minute_count),
            ("tenant", sender.tenant, self._operator.tenant_requests_per_minute_count),
        ):
            if most_count is None:
                continue
            # A tool is counted within its tenant: one tenant must not use up another's share.
            window = self._windows.setdefault((kind, sender.tenant, name), _Window())
            if free_in_s := window.free_in_s(now_s, most_count):
                limit = self._operator.place(f"max_requests_per_minute.{kind}")
                raise EgressError(
                    EgressCode.TOO_MANY_REQUESTS,
                    f"{kind} {name!r} has made {most_count} requests in the last {WINDOW_S:g} s, the most that {limit} "
                    f"allows; the next may go in {free_in_s:.1f} s",
                )
            windows.append(window)
        for window in windows:
            window.times_s.append(now_s)

    def _sweep(self, now_s: float) -> None:
        """Once in a window, forget who has made no request in it: names must not pile up."""
        if now_s - self._swept_s < WINDOW_S:
            return
        self._swept_s = now_s
        self._windows = {
            key: window
            for key, window in self._windows.items()
            if window.times_s and now_s - window.times_s[-1] < WINDOW_S
        }
