"""What a run did: the certificate, and the outcome that carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from keelbox_sandbox.contract import FailureCode, LogLine, Usage

__all__ = ["Certificate", "Effects", "Fate", "Message", "OpRecord", "RunOutcome", "WriteRecord"]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that count as having no effect (RFC 9110, section 9.2.1, less TRACE, which is never sent)."""


class Effects(StrEnum):
    """What a run did to the world."""

    COMMITTED = "committed"
    NONE = "none"
    SENT = "sent"
    UNKNOWN = "unknown"


class Fate(StrEnum):
    """What became of one op."""

    REFUSED = "refused"
    """A rule or a limit stopped it before anything was attempted."""
    NOT_SENT = "not-sent"
    """It was attempted, and not one byte of the request left this host."""
    ANSWERED = "answered"
    """The request was sent and a response began."""
    IN_FLIGHT = "in-flight"
    """Some of the request may have left, and no response came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpRecord:
    """One op of a run."""

    kind: str
    method: str
    url: str
    fate: Fate
    status: int | None = None
    bytes_out: int = 0
    bytes_in: int = 0
    ms: float = 0.0
    code: str | None = None
    """The error code that the script saw, None if the op succeeded."""
    detail: str | None = None
    """For the operator: which rule, host, address, and the next step. Never shown to the script."""

    @property
    def may_have_effect(self) -> bool:
        """Whether this op can have changed something outside."""
        return self.kind == "http" and self.method not in SAFE_METHODS and self.fate in (Fate.ANSWERED, Fate.IN_FLIGHT)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRecord:
    """One staged write of a run."""

    agent_id: str
    session_id: str
    request_id: str
    bytes_count: int
    committed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation."""

    id: str
    agent_id: str
    session_id: str
    request_id: str
    role: str
    content: str
    created_at: str
    """UTC, ISO 8601 with microseconds."""
    run_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The record of what a run did to the world; every run has exactly one, on every path."""

    run_id: str
    effects: Effects
    ops: tuple[OpRecord, ...] = ()
    writes: tuple[WriteRecord, ...] = ()
    usage: Usage = field(default_factory=Usage)
    walls: tuple[str, ...] = ()
    logs_count: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended, for whoever started it. ``code`` is None exactly on a clean return."""

    code: FailureCode | None
    message: str | None
    hint: str | None
    stack: str | None
    location: tuple[str, int, int] | None
    result: Any
    messages: tuple[Message, ...]
    """The messages that were committed (for a dry run: that would have been)."""
    logs: tuple[LogLine, ...]
    certificate: Certificate
