"""One HTTP op from the host's side, and what came of it: the shortest way to say an egress test."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
from anyio.abc import SocketStream

from keelbox.egress.address import is_loopback
from keelbox.egress.answer import Tape
from keelbox.egress.method_rule import MethodRule
from keelbox.egress.policy import EgressPolicy
from keelbox.egress.rates import RequestGate, Sender
from keelbox.egress.resolve import Resolver
from keelbox.egress.run_egress import RunEgress
from keelbox.egress.secrets import NO_SECRETS, RunSecrets
from keelbox.ops.http import HttpOps
from keelbox.outcome import Fate, OpRecord
from keelbox_sandbox.contract import Op, OpError, Reply

__all__ = ["LOOPBACK", "SENDER", "Called", "FakeResolver", "call", "http_op", "loopback_only"]

LOOPBACK = EgressPolicy(allow_loopback=True)
"""The policy of a local test run."""

SENDER = Sender(tool="Weather", tenant="shop")

ROOM_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """What one op came to."""

    reply: Reply | None
    error: OpError | None
    record: OpRecord

    @property
    def code(self) -> str | None:
        """What the script saw as error code."""
        return None if self.error is None else self.error.code

    @property
    def status(self) -> int:
        """The reply's status."""
        assert self.reply is not None, self.error
        return int(self.reply.head["status"])

    @property
    def headers(self) -> Mapping[str, str]:
        """The reply's headers."""
        assert self.reply is not None, self.error
        headers: Mapping[str, str] = self.reply.head["headers"]
        return headers

    @property
    def body(self) -> bytes:
        """The reply's body."""
        assert self.reply is not None, self.error
        return bytes(self.reply.body)

    @property
    def fate(self) -> Fate:
        """What the certificate says became of it."""
        return self.record.fate

    @property
    def detail(self) -> str:
        """What the operator reads."""
        return self.record.detail or ""


class FakeResolver:
    """Gives set answers, one list a look-up (the last one again and again), and notes what was asked."""

    def __init__(self, *answers: Sequence[str] | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def http_op(
    url: Any,
    *,
    method: Any = "GET",
    headers: Any = None,
    body: bytes = b"",
    timeout_ms: Any = None,
    room_bytes: int = ROOM_BYTES,
    **more: Any,
) -> Op:
    """An op as it crosses the wall."""
    fields: dict[str, Any] = {"method": method, "url": url, "headers": headers, "timeoutMs": timeout_ms, **more}
    return Op(number=1, kind="http", head=fields, body=body, writes=(), room_bytes=room_bytes)


@contextmanager
def loopback_only() -> Generator[None]:
    """A net below every test: whatever the code under test does, no packet leaves this machine."""

    async def connect(remote_host: str, remote_port: int) -> SocketStream:
        assert is_loopback(ip_address(remote_host)), f"a test tried to connect to {remote_host}"
        return await connect_tcp(remote_host, remote_port)

    connect_tcp = anyio.connect_tcp
    with patch.object(anyio, "connect_tcp", connect):
        yield


def call(
    url: Any,
    *,
    policy: EgressPolicy = LOOPBACK,
    resolver: Resolver | None = None,
    ca_file: Path | None = None,
    methods: MethodRule | None = None,
    tape: Tape | None = None,
    secrets: RunSecrets = NO_SECRETS,
    gate: RequestGate | None = None,
    deadline_s: float = 10,
    backend: str = "asyncio",
    **op: Any,
) -> Called:
    """Carry out one op in an event loop of its own.

    Args:
        url: of the request; ``op`` has its other parts, see `http_op`.
        policy, resolver, ca_file, methods, tape, secrets, gate: as `RunEgress`.
        deadline_s: from now.
        backend: ``asyncio`` or ``trio``.
    """
    ops = HttpOps(
        RunEgress(
            policy=policy,
            resolver=resolver,
            ca_file=ca_file,
            methods=methods or MethodRule(),
            tape=tape,
            secrets=secrets,
            gate=gate,
            sender=SENDER,
        )
    )

    replies: list[Reply] = []
    errors: list[OpError] = []

    # The reply is not returned from the main task: the interpreter builds the repr of what that returns, 10 MiB of it.
    async def perform() -> None:
        try:
            replies.append(await ops.perform(http_op(url, **op), deadline_s=anyio.current_time() + deadline_s))
        except OpError as error:
            errors.append(error)

    with loopback_only():
        anyio.run(perform, backend=backend)
    (record,) = ops.records
    return Called(reply=next(iter(replies), None), error=next(iter(errors), None), record=record)
