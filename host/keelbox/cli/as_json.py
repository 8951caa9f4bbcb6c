"""A run as the one JSON document that ``keelbox run --json`` prints (docs/reference/cli.md)."""

from __future__ import annotations

from typing import Any

from keelbox.outcome import Certificate, Message, OpRecord, RunOutcome, WriteRecord
from keelbox_sandbox.contract import Usage

__all__ = ["run_document"]

_MS_DIGITS = 3


def run_document(outcome: RunOutcome, *, dry_run: bool) -> dict[str, Any]:
    """Describe a run.

    Args:
        outcome: how it ended.
        dry_run: whether nothing was to be committed; then the messages stand under ``would_write``.
    """
    messages = [_message(message) for message in outcome.messages]
    document: dict[str, Any] = {
        "status": "ok" if outcome.code is None else "failed",
        "code": outcome.code,
        "message": outcome.message,
        "hint": outcome.hint,
        "stack": outcome.stack,
        "location": None,
        "result": outcome.result,
        "messages": [] if dry_run else messages,
        "logs": [{"level": line.level, "text": line.text} for line in outcome.logs],
        "certificate": _certificate(outcome.certificate),
        "dry_run": dry_run,
    }
    if outcome.location is not None:
        file, line, column = outcome.location
        document["location"] = {"file": file, "line": line, "column": column}
    if dry_run:
        document["would_write"] = messages
    return document


def _message(message: Message) -> dict[str, Any]:
    return {
        "agent_id": message.agent_id,
        "session_id": message.session_id,
        "request_id": message.request_id,
        "role": message.role,
        "content": message.content,
    }


def _certificate(certificate: Certificate) -> dict[str, Any]:
    return {
        "run_id": certificate.run_id,
        "effects": certificate.effects,
        "ops": [_op(op) for op in certificate.ops],
        "writes": [_write(write) for write in certificate.writes],
        "usage": _usage(certificate.usage),
        "walls": list(certificate.walls),
        "logs": dict(certificate.logs_count),
    }


def _op(op: OpRecord) -> dict[str, Any]:
    return {
        "kind": op.kind,
        "method": op.method,
        "url": op.url,
        "status": op.status,
        "bytes_out": op.bytes_out,
        "bytes_in": op.bytes_in,
        "ms": round(op.ms, _MS_DIGITS),
        "fate": op.fate,
        "code": op.code,
        "detail": op.detail,
    }


def _write(write: WriteRecord) -> dict[str, Any]:
    return {
        "agent_id": write.agent_id,
        "session_id": write.session_id,
        "request_id": write.request_id,
        "bytes": write.bytes_count,
        "committed": write.committed,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "cpu_ms": round(usage.cpu_s * 1000, _MS_DIGITS),
        "wall_ms": round(usage.wall_s * 1000, _MS_DIGITS),
        "peak_heap_bytes": usage.peak_heap_bytes,
        "buffer_peak_bytes": usage.buffer_peak_bytes,
        "requests": usage.requests_count,
        "bytes_out": usage.bytes_out,
        "bytes_in": usage.bytes_in,
    }
