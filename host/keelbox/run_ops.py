"""Sends the ops of one run to their twins, and keeps one list of what became of each, in the script's order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from keelbox.conversation import Conversation
from keelbox.egress.url import printable_url
from keelbox.outcome import Fate, OpRecord
from keelbox_sandbox.contract import Op, OpError, RefusedOp, Reply

if TYPE_CHECKING:
    from keelbox.egress.run_egress import RunEgress
    from keelbox.ops.agent import AgentOps
    from keelbox.ops.http import HttpOps

__all__ = ["RunOps"]

_REFUSED_LISTED_COUNT = 100
"""Ops refused inside the sandbox that are listed one by one: a script can ask without end."""

_METHOD_CHARS_COUNT = 20


class RunOps:
    """The ops of one run.

    Args:
        egress: how its requests leave.
        conversation: what it reads from.
        agent_id: its caller.
        session_id: the caller's session.
        own_session_id: the run's own session.
        deadline_s: when every op must be over, on the event loop's clock.

    Attributes:
        fault: what the host itself failed with; such a run cannot go on.
    """

    def __init__(
        self,
        *,
        egress: RunEgress,
        conversation: Conversation,
        agent_id: str,
        session_id: str,
        own_session_id: str,
        deadline_s: float,
    ) -> None:
        self.fault: Exception | None = None
        self._egress = egress
        self._conversation = conversation
        self._agent_id = agent_id
        self._session_id = session_id
        self._own_session_id = own_session_id
        self._deadline_s = deadline_s
        self._http: HttpOps | None = None
        self._agent: AgentOps | None = None
        self._records: list[OpRecord] = []
        self._refused_count = 0

    @property
    def performed_count(self) -> int:
        """Ops that came to the host."""
        return len(self._records) - min(self._refused_count, _REFUSED_LISTED_COUNT)

    async def perform(self, op: Op) -> Reply:
        """Carry out one op.

        Raises:
            OpError: for what the script may know.
        """
        try:
            return await (self._perform_http(op) if op.kind == "http" else self._perform_agent(op))
        except OpError:
            raise
        except Exception as error:
            self.fault = error
            raise

    def refused(self, event: RefusedOp) -> None:
        """Note an op that the sandbox refused by itself."""
        self._refused_count += 1
        if self._refused_count > _REFUSED_LISTED_COUNT:
            return
        method = event.method[:_METHOD_CHARS_COUNT]
        url = printable_url(event.url)
        self._records.append(OpRecord(kind=event.kind, method=method, url=url, fate=Fate.REFUSED, code=event.code))

    def records(self) -> tuple[OpRecord, ...]:
        """Get the records so far, in order."""
        more_count = self._refused_count - _REFUSED_LISTED_COUNT
        if more_count <= 0:
            return tuple(self._records)
        *before, last = self._records
        return (*before, replace(last, detail=f"{more_count} more ops were refused in the sandbox and are not listed"))

    async def _perform_http(self, op: Op) -> Reply:
        if self._http is None:
            from keelbox.ops.http import HttpOps

            self._http = HttpOps(self._egress)
        try:
            return await self._http.perform(op, deadline_s=self._deadline_s)
        finally:
            self._take(self._http.records)

    async def _perform_agent(self, op: Op) -> Reply:
        if self._agent is None:
            from keelbox.ops.agent import AgentOps

            self._agent = AgentOps(
                self._conversation,
                agent_id=self._agent_id,
                session_id=self._session_id,
                own_session_id=self._own_session_id,
            )
        try:
            return await self._agent.perform(op)
        finally:
            self._take(self._agent.records)

    def _take(self, records: list[OpRecord]) -> None:
        self._records += records
        records.clear()
