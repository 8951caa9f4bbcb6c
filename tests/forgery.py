"""Lies that a guest with full control of its memory could tell the host, as functions that tell them once."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tests.faults import live_isolates, poke, set_field, spoil_state
from tests.wall import MIB, Answers, Guest, json_reply

from keelbox_sandbox.contract import Event, Limits, RunResult
from keelbox_sandbox.wasm import abi
from keelbox_sandbox.wasm.isolate import Isolate

__all__ = ["ASK", "Lie", "forged_op", "forged_outbox", "forged_result", "record", "run_with_lie"]

Lie: TypeAlias = Callable[[Isolate], None]

ASK = "const { body } = await Http.getJson('http://a.test/'); return body;"


async def run_with_lie(
    guest: Guest,
    lie: Lie,
    *,
    at: int = 1,
    body: str = ASK,
    answers: Answers | None = None,
    limits: Limits | None = None,
    observe: Callable[[Event], None] | None = None,
) -> RunResult:
    """Run a body whose guest tells the lie after its ``at``-th call; the run before and the run after must be right."""

    def spoil(isolate: Isolate, number: int) -> None:
        if number == at:
            lie(isolate)

    assert (await guest.exec(body, perform=Answers(json_reply("before")))).code is None
    with spoil_state(spoil):
        result = await guest.exec(
            body, perform=answers or Answers(json_reply(1)), limits=limits or Limits(wall_s=10), observe=observe
        )
    assert live_isolates() == []
    assert await guest.value(ASK, perform=Answers(json_reply("after"))) == "after"
    return result


def forged_op(head: bytes, body: bytes = b"", **fields: int) -> Lie:
    """An op with this head and body; ``fields`` of the state block as given."""

    def lie(isolate: Isolate) -> None:
        poke(isolate, isolate.buffer_address, head + body)
        for name, value in {"op_head_bytes": len(head), "op_body_bytes": len(body), **fields}.items():
            set_field(isolate, name, value)

    return lie


def forged_result(*parts: bytes) -> Lie:
    """The run is done, with these texts as value, dictionary and session."""

    def lie(isolate: Isolate) -> None:
        poke(isolate, isolate.buffer_address, b"".join(parts))
        set_field(isolate, "phase", abi.Phase.DONE)
        for number, part in enumerate(parts, start=1):
            set_field(isolate, f"part{number}_bytes", len(part))

    return lie


def record(kind: int, tag: int, *texts: bytes, count: int | None = None, sizes: Sequence[int] | None = None) -> bytes:
    """One record of the outbox; ``count`` and ``sizes`` may be false."""
    lengths = [len(text) for text in texts] if sizes is None else sizes
    head = struct.pack(f"<3I{len(lengths)}I", kind, tag, len(texts) if count is None else count, *lengths)
    return head + b"".join(texts)


def forged_outbox(*blocks: tuple[int, bytes], used_bytes: int | None = None) -> Lie:
    """An outbox of blocks (index of the next one or -1, records), behind the first megabyte of the buffer."""

    def lie(isolate: Isolate) -> None:
        addresses = [isolate.buffer_address + MIB]
        for _, data in blocks:
            addresses.append(addresses[-1] + 12 + len(data) + 64)
        for address, (following, data) in zip(addresses, blocks, strict=False):
            used = len(data) if used_bytes is None else used_bytes
            poke(isolate, address, struct.pack("<3I", addresses[following] if following >= 0 else 0, used, 0) + data)
        set_field(isolate, "outbox_address", addresses[0])

    return lie
