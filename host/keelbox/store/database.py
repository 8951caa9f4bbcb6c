"""The conversation store on any database that SQLAlchemy Core speaks to: plain calls in worker threads.

The synchronous Core is used on purpose: its asynchronous layer costs six times as much on SQLite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from anyio import CancelScope, CapacityLimiter
from anyio.lowlevel import checkpoint_if_cancelled
from anyio.to_thread import run_sync
from sqlalchemy import Connection, Engine, Executable, bindparam, func, select, update
from sqlalchemy.dialects.sqlite import insert

from keelbox.conversation import MessagesTooLargeError, SessionChange, SessionConflict, SessionState
from keelbox.outcome import Message
from keelbox.store.faults import telling
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
from keelbox.store.schema import commits, messages, sessions
from keelbox_sandbox import codec
from keelbox_sandbox.contract import Write

__all__ = ["READERS_COUNT", "WRITE_OPTION", "DatabaseConversation"]

READERS_COUNT = 4
"""Reads that are under way at once: more would only hold threads that other work needs."""

WRITE_OPTION = "keelbox_write"
"""Execution option of every connection that will write: what the engine's ``begin`` hook looks at."""

P = ParamSpec("P")
T = TypeVar("T")

_COLUMNS = (
    messages.c.id,
    messages.c.agent_id,
    messages.c.session_id,
    messages.c.request_id,
    messages.c.role,
    messages.c.content,
    messages.c.created_at,
    messages.c.run_id,
)
_CONVERSATION = (messages.c.agent_id == bindparam("agent_id"), messages.c.session_id == bindparam("session_id"))

_INSERT_COMMIT = insert(commits).on_conflict_do_nothing(index_elements=["run_id"])
_INSERT_MESSAGE = insert(messages).on_conflict_do_nothing(index_elements=["agent_id", "session_id", "request_id"])
_SELECT_MESSAGE = select(*_COLUMNS).where(*_CONVERSATION, messages.c.request_id == bindparam("request_id"))
_SELECT_SEQ = select(messages.c.seq).where(*_CONVERSATION, messages.c.id == bindparam("id"))
_SELECT_REPLY = (
    select(*_COLUMNS).where(*_CONVERSATION, messages.c.role == "assistant").order_by(messages.c.seq.desc()).limit(1)
)
_SELECT_KNOWN = select(messages.c.request_id).where(
    *_CONVERSATION, messages.c.request_id.in_(bindparam("request_ids", expanding=True))
)
_SELECT_SESSION = select(sessions.c.version, sessions.c.expires_at, sessions.c.data).where(
    sessions.c.session_id == bindparam("session_id")
)
_WIPE_SESSIONS = update(sessions).where(sessions.c.expires_at <= bindparam("now")).values(data=None, expires_at=None)
_INSERT_SESSION = insert(sessions).on_conflict_do_nothing(index_elements=["session_id"])
_UPDATE_SESSION = update(sessions).where(
    sessions.c.session_id == bindparam("own_session_id"), sessions.c.version == bindparam("own_version")
)


class DatabaseConversation:
    """A `Conversation` in a database. Several processes may have the same one open."""

    def __init__(self, engine: Engine, *, name: str, writers_count: int, now: Clock | None = None) -> None:
        """Take over an engine whose schema is up to date.

        Args:
            engine: is disposed of by `aclose`. Its pool must have `READERS_COUNT` + ``writers_count`` connections.
            name: what error texts call the store.
            writers_count: transactions that write at once; the others wait in line here, in the order of their coming.
            now: the clock.
        """
        self._engine = engine
        self._name = name
        self._now = now or utc_now
        self._writing = engine.execution_options(**{WRITE_OPTION: True})
        self._readers = CapacityLimiter(READERS_COUNT)
        self._writers = CapacityLimiter(writers_count)

    async def commit(
        self, run_id: str, writes: Sequence[Write], *, session: SessionChange | None = None
    ) -> tuple[Message, ...]:
        """See `Conversation.commit`."""
        await checkpoint_if_cancelled()
        if not writes and session is None:
            return ()
        return await self._write(f"commit run {run_id}", self._commit, run_id, tuple(writes), session)

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
        message = new_message(
            agent_id=agent_id,
            session_id=session_id,
            request_id=request_id or new_id(),
            role=role,
            content=content,
            created_at=timestamp(self._now()),
            run_id=run_id,
        )
        return await self._write("append a message", _put, message)

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
        return await self._read("read messages", _messages, agent_id, session_id, last, before, max_bytes)

    async def last_reply(self, agent_id: str, session_id: str) -> Message | None:
        """See `Conversation.last_reply`."""
        return await self._read("read the last reply", _last_reply, agent_id, session_id)

    async def known_requests(self, agent_id: str, session_id: str, request_ids: Sequence[str]) -> frozenset[str]:
        """See `Conversation.known_requests`."""
        return await self._read("look up request ids", _known_requests, agent_id, session_id, tuple(request_ids))

    async def load_session(self, session_id: str) -> SessionState:
        """See `Conversation.load_session`."""
        return await self._read("load a session", self._load_session, session_id)

    async def aclose(self) -> None:
        """See `Conversation.aclose`."""
        with CancelScope(shield=True):
            await run_sync(self._engine.dispose)

    async def _read(
        self, action: str, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._in_thread(self._engine, self._readers, action, work, *args, **kwargs)

    async def _write(
        self, action: str, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._in_thread(self._writing, self._writers, action, work, *args, **kwargs)

    async def _in_thread(
        self,
        engine: Engine,
        limiter: CapacityLimiter,
        action: str,
        work: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def transaction() -> T:
            with telling(action, self._name), engine.begin() as connection:
                return work(connection, *args, **kwargs)

        # Waiting for the limiter can be cancelled, the thread can not: so a transaction is whole or was never begun.
        return await run_sync(transaction, limiter=limiter)

    def _commit(
        self, connection: Connection, run_id: str, writes: Sequence[Write], session: SessionChange | None
    ) -> tuple[Message, ...]:
        now = self._now()
        created_at = timestamp(now)
        if not connection.execute(_INSERT_COMMIT, {"run_id": run_id, "created_at": created_at}).rowcount:
            return tuple(_replayed(connection, run_id, write) for write in writes)
        if session is not None:
            expires_at = expiry(now, session.ttl_s)
            _change_session(connection, session, created_at, None if expires_at is None else timestamp(expires_at))
        return tuple(_put(connection, message) for message in messages_of(run_id, writes, created_at))

    def _load_session(self, connection: Connection, session_id: str) -> SessionState:
        row = connection.execute(_SELECT_SESSION, {"session_id": session_id}).one_or_none()
        if row is None:
            return SessionState({}, 0)
        version, expires_at, data = row
        if data is None or (expires_at is not None and expires_at <= timestamp(self._now())):
            return SessionState({}, version)
        return SessionState(codec.decode(data), version)


def _put(connection: Connection, message: Message) -> Message:
    values = {
        "id": message.id,
        "agent_id": message.agent_id,
        "session_id": message.session_id,
        "request_id": message.request_id,
        "role": message.role,
        "created_at": message.created_at,
        "run_id": message.run_id,
        "bytes_count": text_bytes_count(message.content),
        "content": message.content,
    }
    if connection.execute(_INSERT_MESSAGE, values).rowcount:
        return message
    return _message(connection.execute(_SELECT_MESSAGE, _request_key(message)).one())


def _request_key(of: Write | Message) -> dict[str, str]:
    return {"agent_id": of.agent_id, "session_id": of.session_id, "request_id": of.request_id}


def _replayed(connection: Connection, run_id: str, write: Write) -> Message:
    stored = _find(connection, _SELECT_MESSAGE, **_request_key(write))
    if stored is None:
        raise other_writes(run_id, write)
    return stored


def _find(connection: Connection, statement: Executable, **values: str) -> Message | None:
    row = connection.execute(statement, values).one_or_none()
    return None if row is None else _message(row)


def _message(row: Sequence[Any]) -> Message:
    """Take a row of `_COLUMNS`; by place, since looking up fifty rows by name takes longer than reading them."""
    message_id, agent_id, session_id, request_id, role, content, created_at, run_id = row
    return Message(
        id=message_id,
        agent_id=agent_id,
        session_id=session_id,
        request_id=request_id,
        role=role,
        content=content,
        created_at=created_at,
        run_id=run_id,
    )


def _messages(
    connection: Connection,
    agent_id: str,
    session_id: str,
    last: int | None,
    before: str | None,
    max_bytes: int | None,
) -> list[Message]:
    key = {"agent_id": agent_id, "session_id": session_id}
    newest_first = select(messages.c.seq).where(*_CONVERSATION).order_by(messages.c.seq.desc()).limit(last)
    if before is not None:
        edge = connection.execute(_SELECT_SEQ, {**key, "id": before}).scalar_one_or_none()
        if edge is None:
            raise unknown_message(before, agent_id, session_id)
        newest_first = newest_first.where(messages.c.seq < edge)
    if max_bytes is not None:
        sizes = newest_first.add_columns(messages.c.bytes_count).subquery()
        bytes_count = connection.execute(select(func.coalesce(func.sum(sizes.c.bytes_count), 0)), key).scalar_one()
        if bytes_count > max_bytes:
            raise MessagesTooLargeError(bytes_count, max_bytes)
    rows = connection.execute(newest_first.with_only_columns(*_COLUMNS), key)
    return [_message(row) for row in rows][::-1]


def _last_reply(connection: Connection, agent_id: str, session_id: str) -> Message | None:
    return _find(connection, _SELECT_REPLY, agent_id=agent_id, session_id=session_id)


def _known_requests(
    connection: Connection, agent_id: str, session_id: str, request_ids: Sequence[str]
) -> frozenset[str]:
    values = {"agent_id": agent_id, "session_id": session_id, "request_ids": request_ids}
    return frozenset(connection.execute(_SELECT_KNOWN, values).scalars())


def _change_session(connection: Connection, change: SessionChange, now: str, expires_at: str | None) -> None:
    connection.execute(_WIPE_SESSIONS, {"now": now})
    data = codec.encode(change.data).decode("utf-8")
    values = {"version": change.version + 1, "expires_at": expires_at, "data": data}
    if change.version == 0:
        written = connection.execute(_INSERT_SESSION, {"session_id": change.session_id, **values})
    else:
        key = {"own_session_id": change.session_id, "own_version": change.version}
        written = connection.execute(_UPDATE_SESSION, {**key, **values})
    if not written.rowcount:
        raise SessionConflict(change)
