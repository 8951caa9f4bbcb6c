"""The host's twin of ``system/agent``: what a running script may read of the conversation.

A run reads its own caller's conversation, and every conversation of its own tool session. What it has staged so far
comes after what is stored, marked as staged; it is in no store yet.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import quote

from keelbox.conversation import Conversation, MessagesTooLargeError
from keelbox.outcome import Fate, Message, OpRecord
from keelbox_sandbox import codec
from keelbox_sandbox.contract import Op, OpError, Reply, Write

__all__ = ["LAST_DEFAULT_COUNT", "LAST_MAX_COUNT", "AgentOps"]

LAST_DEFAULT_COUNT = 50
"""Messages of a read that does not say how many: a turn's history has as many (DESIGN, section 8)."""

LAST_MAX_COUNT = 1000
"""Messages of one read at most."""

_URL_CHARACTERS_COUNT = 200

_Read: TypeAlias = Literal["messages", "last-reply"]
_READS: Mapping[object, _Read] = {"messages": "messages", "last-reply": "last-reply"}
_FIELDS = frozenset({"read", "agentId", "sessionID", "last"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    read: _Read
    agent_id: str
    session_id: str
    last: int


class AgentOps:
    """Carries out the ``agent`` ops of one run.

    Attributes:
        records: one for each op, in order, for the certificate.
    """

    def __init__(self, conversation: Conversation, *, agent_id: str, session_id: str, own_session_id: str) -> None:
        """Set what the run may read.

        Args:
            conversation: where messages are stored.
            agent_id: the run's caller.
            session_id: the caller's session.
            own_session_id: the run's own tool session, in which it may read every agent.
        """
        self.records: list[OpRecord] = []
        self._conversation = conversation
        self._agent_id = agent_id
        self._session_id = session_id
        self._own_session_id = own_session_id

    async def perform(self, op: Op) -> Reply:
        """Answer one read; the reply's body is the JSON text of a list of messages, or of one message or null.

        Raises:
            OpError: ``request-invalid``, ``denied`` or ``response-too-large``.
            StoreError: the conversation store cannot be read: the run cannot go on.
        """
        started_s = time.perf_counter()
        body = b""
        code: str | None = "cancelled"
        fate = Fate.NOT_SENT
        try:
            body = await self._perform(op)
            code, fate = None, Fate.ANSWERED
        except OpError as error:
            code, fate = error.code, Fate.REFUSED
            raise
        except Exception:
            code = "host-error"
            raise
        finally:
            self.records.append(
                OpRecord(
                    kind="agent",
                    method="READ",
                    url=_url(op.head),
                    fate=fate,
                    bytes_in=len(body),
                    ms=(time.perf_counter() - started_s) * 1000,
                    code=code,
                    detail=self._rule() if code == "denied" else None,
                )
            )
        return Reply(head={}, body=body)

    async def _perform(self, op: Op) -> bytes:
        request = _parse(op.head)
        if not self._may_read(request):
            raise OpError("denied", "a run reads only its own caller in the caller's session, and its own session")
        if request.read == "last-reply":
            reply = await self._conversation.last_reply(request.agent_id, request.session_id)
            body = codec.encode(None if reply is None else _stored(reply))
            if len(body) > op.room_bytes:
                raise OpError("response-too-large", "the last reply does not fit into the exchange buffer")
            return body
        return await self._messages(request, op)

    def _may_read(self, request: _Request) -> bool:
        if request.session_id == self._own_session_id:
            return True
        return (request.agent_id, request.session_id) == (self._agent_id, self._session_id)

    def _rule(self) -> str:
        return (
            f"this run reads agent {self._agent_id!r} in session {self._session_id!r}, "
            f"and every agent in session {self._own_session_id!r}"
        )

    async def _messages(self, request: _Request, op: Op) -> bytes:
        staged = (await self._staged(request, op.writes))[-request.last :]
        room_bytes = op.room_bytes - sum(write.bytes_count for write in staged)
        try:
            stored = await self._conversation.messages(
                request.agent_id, request.session_id, last=request.last - len(staged), max_bytes=room_bytes
            )
        except MessagesTooLargeError:
            raise _too_large() from None
        # One at a time and no more than fits: a text can grow sixfold in JSON, and the host must not grow with it.
        parts: list[bytes] = []
        left_bytes = op.room_bytes - len("[]")
        for value in [*map(_stored, stored), *map(_staged, staged)]:
            parts.append(codec.encode(value))
            left_bytes -= len(parts[-1]) + (len(",") if len(parts) > 1 else 0)
            if left_bytes < 0:
                raise _too_large()
        return b"[" + b",".join(parts) + b"]"

    async def _staged(self, request: _Request, writes: Sequence[Write]) -> list[Write]:
        """Find what a commit would add to this conversation: the first write of each request id that is not stored."""
        first: dict[str, Write] = {}
        for write in writes:
            if (write.agent_id, write.session_id) == (request.agent_id, request.session_id):
                first.setdefault(write.request_id, write)
        if not first:
            return []
        known = await self._conversation.known_requests(request.agent_id, request.session_id, tuple(first))
        return [write for request_id, write in first.items() if request_id not in known]


def _parse(head: object) -> _Request:
    """Take apart what came from the script; nothing about it is known yet."""
    if not isinstance(head, Mapping):
        raise _invalid("a read must be an object")
    fields = cast("Mapping[object, object]", head)
    if not fields.keys() <= _FIELDS:
        raise _invalid("a read has the fields read, agentId, sessionID and last, and no others")
    wanted, last = fields.get("read"), fields.get("last")
    read = _READS.get(wanted) if isinstance(wanted, str) else None
    if read is None:
        raise _invalid("read must be messages or last-reply")
    if last is None:
        last = LAST_DEFAULT_COUNT
    if not isinstance(last, int) or isinstance(last, bool) or not 1 <= last <= LAST_MAX_COUNT:
        raise _invalid(f"last must be a whole number from 1 to {LAST_MAX_COUNT}")
    return _Request(
        read=read, agent_id=_parse_id(fields, "agentId"), session_id=_parse_id(fields, "sessionID"), last=last
    )


def _parse_id(fields: Mapping[object, object], name: Literal["agentId", "sessionID"]) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value or not _is_unicode(value):
        raise _invalid(f"{name} must be a text that is not empty")
    return value


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _invalid(message: str) -> OpError:
    return OpError("request-invalid", message)


def _too_large() -> OpError:
    return OpError("response-too-large", "the messages do not fit into the exchange buffer: ask for fewer with last")


def _stored(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "requestID": message.request_id,
        "createdAt": message.created_at,
        "staged": False,
    }


def _staged(write: Write) -> dict[str, Any]:
    return {
        "id": None,
        "role": "user",
        "content": write.content,
        "requestID": write.request_id,
        "createdAt": None,
        "staged": True,
    }


def _url(head: object) -> str:
    """Name the read for the certificate: whatever the script sent, a short text without control characters."""
    if not isinstance(head, Mapping):
        return "agent:/messages"
    fields = cast("Mapping[object, object]", head)
    agent_id, wanted = fields.get("agentId"), fields.get("read")
    shown = agent_id[:_URL_CHARACTERS_COUNT] if isinstance(agent_id, str) else ""
    read = _READS.get(wanted, "messages") if isinstance(wanted, str) else "messages"
    return f"agent:{quote(shown, safe=' ', errors='replace')}/{read}"
