"""Carries out the HTTP ops of one run, and keeps one record of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio

from keelbox.egress.client import EgressClient, Fetched
from keelbox.egress.faults import EgressCode, EgressError, invalid
from keelbox.egress.headers import check_request_headers
from keelbox.egress.request import METHODS, Request
from keelbox.egress.run_egress import RunEgress
from keelbox.egress.scrub import Scrubber
from keelbox.egress.secrets import NO_SECRETS
from keelbox.egress.secrets_handle import refuse_in_url
from keelbox.egress.trail import Trail
from keelbox.egress.url import parse_url, printable_url
from keelbox.outcome import OpRecord
from keelbox_sandbox.codec import INTEGER_MAX
from keelbox_sandbox.contract import FailureCode, Op, OpError, Reply

__all__ = ["HttpOps"]

_HEAD_FIELDS = frozenset({"method", "url", "headers", "timeoutMs"})
_BODILESS_METHODS = ("GET", "HEAD")
_PRINTED_METHOD_CHARS_COUNT = 20


class HttpOps:
    """The HTTP side of one run.

    Args:
        egress: how its requests leave.

    Attributes:
        records: one for each op that was attempted, in order; complete also when the run was cut.
    """

    def __init__(self, egress: RunEgress) -> None:
        self._client = EgressClient(egress)
        self._scrubber = (egress.secrets or NO_SECRETS).scrubber
        self.records: list[OpRecord] = []

    async def perform(self, op: Op, *, deadline_s: float) -> Reply:
        """Carry out one op.

        Args:
            op: as it crossed the wall; nothing in it is trusted.
            deadline_s: when the exchange must be over, on the event loop's clock (`anyio.current_time`). The op's own
                ``timeoutMs`` can only shorten it.

        Raises:
            OpError: for what the script may know. A cancellation closes the connection and goes through.
        """
        begun_s = anyio.current_time()
        trail = Trail()
        code: str = FailureCode.HOST_ERROR.value
        detail: str | None = None
        try:
            fetched = await self._fetch(op, trail, begun_s, deadline_s)
            code, detail = "", _explain(trail)
        except EgressError as fault:
            code, detail = fault.code.value, fault.detail
            raise OpError(fault.code.value, fault.message) from None
        except anyio.get_cancelled_exc_class():
            code, detail = FailureCode.CANCELLED.value, f"the run was cut while {trail.doing}"
            raise
        finally:
            record = _record(op, trail, code or None, detail, anyio.current_time() - begun_s)
            self.records.append(_scrubbed(record, self._scrubber))
        head = {"status": fetched.status, "headers": fetched.headers, "url": str(fetched.url)}
        return Reply(head=head, body=fetched.body)

    async def _fetch(self, op: Op, trail: Trail, begun_s: float, deadline_s: float) -> Fetched:
        request = _request(op)
        timeout_s = _timeout_s(op.head)
        if timeout_s is not None:
            deadline_s = min(deadline_s, begun_s + timeout_s)
        if deadline_s > begun_s:
            with anyio.CancelScope(deadline=deadline_s):
                return await self._client.fetch(request, trail, room_bytes=op.room_bytes)
        limit_s = max(deadline_s - begun_s, 0)
        raise EgressError(EgressCode.TIMEOUT, f"{request.url.origin}: {limit_s:.3f} s were over while {trail.doing}")


def _request(op: Op) -> Request:
    unknown = op.head.keys() - _HEAD_FIELDS
    if unknown:
        raise invalid("the request has an unknown field", f"fields {sorted(map(str, unknown))[:5]}")
    method, url = op.head.get("method"), op.head.get("url")
    if not isinstance(method, str) or method not in METHODS:
        raise invalid(f"the method is not one of {', '.join(sorted(METHODS))}", f"method {str(method)[:40]!r}")
    if not isinstance(url, str):
        raise invalid("the URL is not text")
    refuse_in_url(url)
    if op.body and method in _BODILESS_METHODS:
        raise invalid("a GET or HEAD request has no body; use POST")
    if len(op.body) > op.room_bytes:
        raise invalid("the body is larger than the exchange buffer", f"{len(op.body)} bytes, buffer {op.room_bytes}")
    return Request(
        method=method, url=parse_url(url), headers=check_request_headers(op.head.get("headers")), body=op.body
    )


def _timeout_s(head: Mapping[str, Any]) -> float | None:
    value = head.get("timeoutMs")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= INTEGER_MAX:
        raise invalid("timeoutMs is not a positive number", f"timeoutMs {str(value)[:40]!r}")
    return value / 1000


def _explain(trail: Trail) -> str | None:
    """What the operator should know of an op that went well, if anything."""
    last = trail.hops[-1]
    parts: list[str] = []
    if len(trail.hops) > 1:
        parts.append(f"redirected to {printable_url(str(last.url))}")
    if names := dict.fromkeys(name for hop in trail.hops for name in hop.secrets):
        parts.append(f"with secret {', '.join(names)}")
    if last.route is not None:
        parts.append(f"routed to {last.route.origin}")
    if last.replayed_from is not None:
        parts.append(f"replayed from {last.replayed_from}")
    return "; ".join(parts) or None


def _scrubbed(record: OpRecord, scrubber: Scrubber) -> OpRecord:
    if not scrubber:
        return record
    detail = None if record.detail is None else scrubber.text(record.detail)
    return replace(record, method=scrubber.text(record.method), url=scrubber.text(record.url), detail=detail)


def _record(op: Op, trail: Trail, code: str | None, detail: str | None, elapsed_s: float) -> OpRecord:
    method, url = op.head.get("method"), op.head.get("url")
    return OpRecord(
        kind="http",
        method=method[:_PRINTED_METHOD_CHARS_COUNT] if isinstance(method, str) else "",
        url=printable_url(url) if isinstance(url, str) else "",
        fate=trail.fate,
        status=trail.hops[-1].status if trail.hops else None,
        bytes_out=sum(hop.bytes_out for hop in trail.hops),
        bytes_in=sum(hop.bytes_in for hop in trail.hops),
        ms=elapsed_s * 1000,
        code=code,
        detail=detail,
    )
