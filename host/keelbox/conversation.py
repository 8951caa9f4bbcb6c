"""Where messages live: one small interface, and the implementation that keeps them in memory.

Glossary:
    conversation: the messages of one agent in one session, in the order in which they were written.
    commit: all writes of one run and the session data that it changed, in one transaction.
    replay: asking for a commit again, because the first asker never heard how it ended.

Invariants that every implementation keeps (`tests/host/test_conversation.py` runs on all of them):
    1. A commit is whole or absent, whatever fails or is cancelled, the host's own death included.
    2. Order is the order of writing, never that of clocks.
    3. A request id is one message within its agent and session: writing it again gives back what is stored.
    4. A run id is one commit: a replay gives back what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from keelbox.outcome import Message
from keelbox.store.records import (
    Clock,
    Role,
    expiry,
    messages_of,
    new_id,
    new_message,
    other_writes,
    text_bytes_count,
    timestamp,
    unknown_message,
    utc_now,
)
from keelbox_sandbox import codec
from keelbox_sandbox.contract import Write

__all__ = [
    "Clock",
    "Conversation",
    "MemoryConversation",
    "MessagesTooLargeError",
    "Role",
    "SessionChange",
    "SessionConflict",
    "SessionState",
    "new_id",
    "open_conversation",
    "utc_now",
]


class SessionState(NamedTuple):
    """The session data that a run starts with."""

    data: dict[str, Any]
    """The caller's own copy; empty if there is none or it has expired."""
    version: int
    """What `SessionChange.version` must say; 0 for a session that was never written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChange:
    """Session data that a run has changed."""

    session_id: str
    version: int
    """The version that the run started from."""
    data: Mapping[str, Any]
    ttl_s: float | None
    """Life of the data from this write on, in seconds; None: no end."""


class SessionConflict(Exception):  # noqa: N818 - not an error of anybody: the later of two runs yields
    """Another run has changed the session since this one loaded it; nothing of the commit was written."""

    def __init__(self, change: SessionChange) -> None:
        super().__init__(f"session {change.session_id!r} was changed by another run since version {change.version}")
        self.session_id = change.session_id
        self.version = change.version


class MessagesTooLargeError(Exception):
    """The messages asked for hold more than the reader has room for.

    Attributes:
        bytes_count: what their contents take in UTF-8.
        max_bytes: the reader's room.
    """

    def __init__(self, bytes_count: int, max_bytes: int) -> None:
        super().__init__(f"the messages hold {bytes_count} bytes, the reader has room for {max_bytes}")
        self.bytes_count = bytes_count
        self.max_bytes = max_bytes


class Conversation(Protocol):
    """The messages of all agents and sessions, and the sessions' data. The tasks of one event loop may share it."""

    async def commit(
        self, run_id: str, writes: Sequence[Write], *, session: SessionChange | None = None
    ) -> tuple[Message, ...]:
        """Write what one run staged, as messages of role ``user``, and its session data: all of it or nothing.

        A commit of nothing touches nothing. A request id that is there already, from this run or another, stands for
        the stored message; nothing is written for it. A run id that is there already makes the call a replay.

        Cancelled before its turn comes, it has written nothing. Once begun it runs to its end and returns; the
        cancellation arrives at the caller's next checkpoint. Where an event loop breaks in regardless (a bare task
        cancellation), a replay tells which it was.

        Returns:
            One message for each write, in order; the same one twice where two writes share a request id.

        Raises:
            SessionConflict: nothing was written.
            StoreError: nothing was written.
        """
        ...

    async def append(
        self,
        *,
        agent_id: str,
        session_id: str,
        role: Role,
        content: str,
        request_id: str | None = None,
        run_id: str | None = None,
    ) -> Message:
        """Put in one message of the platform itself: what the user asked, what the agent replied.

        Unlike `commit` it gives the message any role, and makes up a request id where there is none. A request id
        that is there already stands for the stored message. Cancellation as for `commit`.

        Raises:
            StoreError: nothing was written.
        """
        ...

    async def messages(
        self,
        agent_id: str,
        session_id: str,
        *,
        last: int | None = None,
        before: str | None = None,
        max_bytes: int | None = None,
    ) -> list[Message]:
        """Read one conversation, oldest first.

        Args:
            agent_id: whose conversation.
            session_id: in which session.
            last: only the newest so many; None: all.
            before: only what was written before the message with this id (for paging backwards).
            max_bytes: room for the contents in UTF-8. It is checked before any content is read into memory.

        Raises:
            UsageError: no message of this conversation has the id ``before``.
            MessagesTooLargeError: they take more than ``max_bytes``; ask for fewer.
            StoreError: the store cannot be read.
        """
        ...

    async def last_reply(self, agent_id: str, session_id: str) -> Message | None:
        """Find the newest message of role ``assistant``.

        Raises:
            StoreError: the store cannot be read.
        """
        ...

    async def known_requests(self, agent_id: str, session_id: str, request_ids: Sequence[str]) -> frozenset[str]:
        """Tell which of some request ids are messages of this conversation already.

        Raises:
            StoreError: the store cannot be read.
        """
        ...

    async def load_session(self, session_id: str) -> SessionState:
        """Read a session's data, and the version to give back in `SessionChange`.

        Raises:
            StoreError: the store cannot be read.
        """
        ...

    async def aclose(self) -> None:
        """Let go of files and connections. Call it once, when no other call is under way; it is not cancelled."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    version: int
    data: bytes
    expires_at: datetime | None


class MemoryConversation:
    """A `Conversation` that dies with the process: for local runs and tests. Imports no database library."""

    def __init__(self, *, now: Clock | None = None) -> None:
        self._now = now or utc_now
        self._conversations: dict[tuple[str, str], dict[str, Message]] = {}
        """By agent and session; within, by request id in the order of writing."""
        self._run_ids: set[str] = set()
        self._sessions: dict[str, _Session] = {}

    async def commit(
        self, run_id: str, writes: Sequence[Write], *, session: SessionChange | None = None
    ) -> tuple[Message, ...]:
        """See `Conversation.commit`. Nothing is awaited once it has begun."""
        await checkpoint_if_cancelled()
        if run_id in self._run_ids:
            return tuple(self._replayed(run_id, write) for write in writes)
        if not writes and session is None:
            return ()
        now = self._now()
        fresh = messages_of(run_id, writes, timestamp(now))
        if session is not None:
            self._change_session(session, now)
        self._run_ids.add(run_id)
        return tuple(map(self._put, fresh))

    async def append(
        self,
        *,
        agent_id: str,
        session_id: str,
        role: Role,
        content: str,
        request_id: str | None = None,
        run_id: str | None = None,
    ) -> Message:
        """See `Conversation.append`."""
        await checkpoint_if_cancelled()
        return self._put(
            new_message(
                agent_id=agent_id,
                session_id=session_id,
                request_id=request_id or new_id(),
                role=role,
                content=content,
                created_at=timestamp(self._now()),
                run_id=run_id,
            )
        )

    async def messages(
        self,
        agent_id: str,
        session_id: str,
        *,
        last: int | None = None,
        before: str | None = None,
        max_bytes: int | None = None,
    ) -> list[Message]:
        """See `Conversation.messages`."""
        await checkpoint()
        found = list(self._find(agent_id, session_id).values())
        if before is not None:
            ids = [message.id for message in found]
            if before not in ids:
                raise unknown_message(before, agent_id, session_id)
            found = found[: ids.index(before)]
        if last is not None:
            found = found[max(len(found) - last, 0) :]
        if max_bytes is not None:
            bytes_count = sum(text_bytes_count(message.content) for message in found)
            if bytes_count > max_bytes:
                raise MessagesTooLargeError(bytes_count, max_bytes)
        return found

    async def last_reply(self, agent_id: str, session_id: str) -> Message | None:
        """See `Conversation.last_reply`."""
        await checkpoint()
        newest_first = reversed(self._find(agent_id, session_id).values())
        return next((message for message in newest_first if message.role == "assistant"), None)

    async def known_requests(self, agent_id: str, session_id: str, request_ids: Sequence[str]) -> frozenset[str]:
        """See `Conversation.known_requests`."""
        await checkpoint()
        return frozenset(self._find(agent_id, session_id).keys() & set(request_ids))

    async def load_session(self, session_id: str) -> SessionState:
        """See `Conversation.load_session`."""
        await checkpoint()
        stored = self._sessions.get(session_id)
        if stored is None:
            return SessionState({}, 0)
        if stored.expires_at is not None and stored.expires_at <= self._now():
            return SessionState({}, stored.version)
        return SessionState(codec.decode(stored.data), stored.version)

    async def aclose(self) -> None:
        """See `Conversation.aclose`. There is nothing to let go of."""

    def _find(self, agent_id: str, session_id: str) -> dict[str, Message]:
        return self._conversations.get((agent_id, session_id), {})

    def _put(self, message: Message) -> Message:
        conversation = self._conversations.setdefault((message.agent_id, message.session_id), {})
        return conversation.setdefault(message.request_id, message)

    def _replayed(self, run_id: str, write: Write) -> Message:
        stored = self._find(write.agent_id, write.session_id).get(write.request_id)
        if stored is None:
            raise other_writes(run_id, write)
        return stored

    def _change_session(self, change: SessionChange, now: datetime) -> None:
        stored = self._sessions.get(change.session_id)
        if change.version != (0 if stored is None else stored.version):
            raise SessionConflict(change)
        self._sessions[change.session_id] = _Session(
            version=change.version + 1, data=codec.encode(change.data), expires_at=expiry(now, change.ttl_s)
        )


async def open_conversation(path: Path | None, *, now: Clock | None = None) -> Conversation:
    """Open the conversations in a SQLite file, or fresh ones in memory.

    Args:
        path: the file, made with its folder if it is not there (readable by its owner only); None: in memory.
        now: the clock for ``created_at`` and the life of session data.

    Raises:
        StoreError: the file cannot be used; says why and what to do.
    """
    if path is None:
        return MemoryConversation(now=now)
    from anyio.to_thread import run_sync

    def open_file(path: Path) -> Conversation:
        from keelbox.store.sqlite import open_sqlite

        return open_sqlite(path, now=now)

    return await run_sync(open_file, path)
