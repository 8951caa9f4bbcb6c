"""What every implementation of a conversation makes in the same way: ids, times, messages, errors about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from keelbox.errors import InternalError, UsageError
from keelbox.outcome import Message
from keelbox_sandbox.contract import Write

__all__ = [
    "Clock",
    "Role",
    "expiry",
    "messages_of",
    "new_id",
    "new_message",
    "other_writes",
    "text_bytes_count",
    "timestamp",
    "unknown_message",
    "utc_now",
]

Role: TypeAlias = Literal["user", "assistant"]
Clock: TypeAlias = Callable[[], datetime]


def utc_now() -> datetime:
    """Tell the time, in UTC."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """Write a moment as UTC, ISO 8601 with microseconds: of one length always, so that texts sort as times do."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def expiry(now: datetime, ttl_s: float | None) -> datetime | None:
    """Tell when data that is written now ends; None: never."""
    return None if ttl_s is None else now + timedelta(seconds=ttl_s)


def new_id() -> str:
    """Make an id that sorts by time (UUIDv7). It shows when it was made: never use one to grant access."""
    from uuid_utils import uuid7

    return str(uuid7())


def new_message(
    *, agent_id: str, session_id: str, request_id: str, role: Role, content: str, created_at: str, run_id: str | None
) -> Message:
    """Make a message that is not stored yet.

    Raises:
        InternalError: a text that is not Unicode got through the wall.
    """
    for text in (agent_id, session_id, request_id, content):
        text_bytes_count(text)
    return Message(
        id=new_id(),
        agent_id=agent_id,
        session_id=session_id,
        request_id=request_id,
        role=role,
        content=content,
        created_at=created_at,
        run_id=run_id,
    )


def messages_of(run_id: str, writes: Iterable[Write], created_at: str) -> list[Message]:
    """Make the messages of one run's writes, in order; none is stored yet.

    Raises:
        InternalError: as `new_message`.
    """
    return [
        new_message(
            agent_id=write.agent_id,
            session_id=write.session_id,
            request_id=write.request_id,
            role="user",
            content=write.content,
            created_at=created_at,
            run_id=run_id,
        )
        for write in writes
    ]


def text_bytes_count(text: str) -> int:
    """Count the bytes of a text in UTF-8.

    Raises:
        InternalError: it holds a lone surrogate.
    """
    if text.isascii():
        return len(text)
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InternalError(
            f"a message's text holds a lone surrogate at character {error.start}",
            hint="the sandbox replaces these before a text crosses the wall; please report this",
        ) from None


def unknown_message(message_id: str, agent_id: str, session_id: str) -> UsageError:
    """Make the error for a ``before`` that is not in the conversation."""
    return UsageError(
        f"no message {message_id!r} in the conversation of agent {agent_id!r} in session {session_id!r}",
        hint="give the id of a message that an earlier page of this conversation returned",
    )


def other_writes(run_id: str, write: Write) -> InternalError:
    """Make the error for a replay whose writes are not those of the commit."""
    return InternalError(
        f"run {run_id} is committed, but without request id {write.request_id!r} for agent {write.agent_id!r}",
        hint="a run id stands for one commit; ask for it again with the same writes only",
    )
