"""What a guest left in its outbox, as events.

The guest keeps the limits of logs, writes, progress and refused ops while it fills the outbox. It is not the wall, so
they are held here once more: a script that has taken over its sandbox leaves no more with the host than another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from keelbox_sandbox import codec
from keelbox_sandbox.contract import KIB, MIB, Event, Limits, LogLevel, LogLine, Progress, RefusedOp, Write

from .abi import Record
from .isolate import CrashError, OutboxRecord

__all__ = ["REFUSED_COUNT", "Records"]

REFUSED_COUNT = 1000
"""Refused ops of one run that are told; a script can make many thousands of them between two answers."""

_Text: TypeAlias = bytes | memoryview
_LEVELS: tuple[LogLevel, ...] = ("error", "warning", "info", "debug")
_SPARE_COUNT = 200
"""Progress and refused ops between two answers (SPARE_RECORDS_COUNT of host_api.c)."""

_PROGRESS_BYTES = 4096  # as boot.js has it
_IDENTIFIER_BYTES = 256 * 3  # the characters that agent.js allows, at their largest in UTF-8
_URL_CHARACTERS = 2048
_WORD_CHARACTERS = 32
"""A refused op is shown, not sent: its method and the start of its URL are enough."""


class Records:
    """The records of one run, in the order in which they are read."""

    def __init__(self, limits: Limits) -> None:
        self._log_lines_left = limits.log_lines_count
        self._log_bytes_left = int(limits.log_kib * KIB)
        self._writes_left = limits.writes_count
        self._message_bytes = int(limits.message_mib * MIB)
        self._staged_bytes_left = int(limits.staged_mib * MIB)
        self._refused_left = REFUSED_COUNT

    def events(self, records: Iterable[OutboxRecord]) -> Iterator[Event]:
        """Give what one guest call left; what is no record is left out.

        Raises:
            CrashError: it is more than an honest guest would leave. What came before has been given.
        """
        spare_left = _SPARE_COUNT
        for kind, tag, texts in records:
            if kind == Record.LOG and len(texts) == 1 and tag < len(_LEVELS):
                yield self._log_line(_LEVELS[tag], texts[0])
            elif kind == Record.WRITE and len(texts) == 4:
                yield self._write(*texts)
            elif (kind == Record.PROGRESS and len(texts) == 1) or (kind == Record.REFUSED and len(texts) == 4):
                spare_left -= 1
                if spare_left < 0:
                    raise CrashError("the guest reported more progress or refused requests than it may")
                event = _progress(texts[0]) if kind == Record.PROGRESS else self._refused(*texts)
                if event is not None:
                    yield event

    def _log_line(self, level: LogLevel, text: _Text) -> LogLine:
        self._log_lines_left -= 1
        self._log_bytes_left -= len(text)
        if self._log_lines_left < 0 or self._log_bytes_left < 0:
            raise CrashError("the guest logged more than it may")
        return LogLine(level=level, text=_text(text))

    def _write(self, agent_id: _Text, session_id: _Text, request_id: _Text, content: _Text) -> Write:
        self._writes_left -= 1
        self._staged_bytes_left -= len(content)
        if (
            self._writes_left < 0
            or self._staged_bytes_left < 0
            or len(content) > self._message_bytes
            or max(len(agent_id), len(session_id), len(request_id)) > _IDENTIFIER_BYTES
        ):
            raise CrashError("the guest staged more than it may")
        text = _text(content)
        return Write(
            agent_id=_text(agent_id), session_id=_text(session_id), request_id=_text(request_id), content=text,
            bytes_count=len(content) if "\ufffd" not in text else len(text.encode()),
        )  # fmt: skip

    def _refused(self, kind: _Text, method: _Text, url: _Text, code: _Text) -> RefusedOp | None:
        self._refused_left -= 1
        if self._refused_left < 0:
            return None
        return RefusedOp(
            kind=_text(kind)[:_WORD_CHARACTERS], method=_text(method)[:_WORD_CHARACTERS],
            url=_text(url)[:_URL_CHARACTERS], code=_text(code)[:_WORD_CHARACTERS],
        )  # fmt: skip


def _progress(text: _Text) -> Progress | None:
    if len(text) > _PROGRESS_BYTES:
        raise CrashError("the guest reported larger progress than it may")
    try:
        return Progress(data=codec.decode(text))
    except codec.CodecError:
        return None


def _text(data: _Text) -> str:
    return str(data, "utf-8", "replace")
