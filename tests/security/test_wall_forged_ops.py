"""Ops and names that a guest invents: the host takes what its rules allow, once, and nothing else (SECURITY B2, B4, B5)."""

from __future__ import annotations

import json
import struct

import pytest
from tests.faults import poke, set_field, spoil_state
from tests.forgery import forged_op, run_with_lie
from tests.wall import KIB, MIB, Answers, Guest, json_reply

from keelbox_sandbox.contract import FailureCode, Limits, ScriptError
from keelbox_sandbox.wasm import abi
from keelbox_sandbox.wasm.isolate import Isolate

pytestmark = pytest.mark.anyio

HEAD = json.dumps({"method": "GET", "url": "http://a.test/", "headers": {}, "timeoutMs": None}).encode()

NOT_STRICT = {
    "nothing": b"",
    "array": b"[]",
    "null": b"null",
    "number": b"5",
    "text": b'"x"',
    "unfinished": b"{",
    "twice the same key": b'{"a":1,"a":2}',
    "NaN": b'{"a":NaN}',
    "number out of range": b'{"a":1e999}',
    "integer of 5,000 digits": b'{"a":' + b"9" * 5000 + b"}",
    "integer that no side holds": b'{"a":9007199254740993}',
    "no UTF-8": b'{"a":"\xff"}',
    "lone surrogate": b'{"a":"\\ud800"}',
    "deep": b'{"a":' + b"[" * 100 + b"]" * 100 + b"}",
    "deeper than Python's stack": b'{"a":' + b"[" * 100_000,
    "two values": b"{}{}",
    "byte order mark": b"\xef\xbb\xbf{}",
    "single quotes": b"{'a':1}",
    "NUL at the end": b"{}\0",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_well_formed_lie_is_the_hosts_to_judge(guest: Guest) -> None:
    """B6: all that forging gains is what the script could have asked for anyway: one op, seen by the host's rules."""
    answers = Answers(json_reply(1))
    head = {"method": "GET", "url": "file:///etc/passwd", "headers": {"host": "x"}, "extra": [1]}
    await run_with_lie(guest, forged_op(json.dumps(head).encode()), answers=answers)
    assert [each.head for each in answers.ops] == [head]


@pytest.mark.parametrize("name", NOT_STRICT)
async def test_head_that_is_no_strict_object_crashes_the_run(guest: Guest, name: str) -> None:
    """B17, B18, §0.6."""
    answers = Answers()
    result = await run_with_lie(guest, forged_op(NOT_STRICT[name]), answers=answers)
    assert (result.code, answers.ops) == (FailureCode.SANDBOX_CRASHED, [])


@pytest.mark.parametrize("kind", [0, 3, 2**31, 2**32 - 1])
async def test_other_kind_crashes_the_run(guest: Guest, kind: int) -> None:
    answers = Answers()
    result = await run_with_lie(guest, forged_op(HEAD, op_kind=kind), answers=answers)
    assert (result.code, answers.ops) == (FailureCode.SANDBOX_CRASHED, [])


@pytest.mark.parametrize("number", [0, 2, 7, 2**32 - 1])
async def test_other_number_crashes_the_run(guest: Guest, number: int) -> None:
    """B4: no op is skipped, repeated or invented."""
    answers = Answers()
    result = await run_with_lie(guest, forged_op(HEAD, op_number=number), answers=answers)
    assert (result.code, answers.ops) == (FailureCode.SANDBOX_CRASHED, [])


async def test_op_that_is_told_again_after_its_answer_crashes_the_run(guest: Guest) -> None:
    """B5."""
    answers = Answers()

    def lie(isolate: Isolate) -> None:
        set_field(isolate, "phase", abi.Phase.SUSPENDED)

    result = await run_with_lie(guest, lie, at=2, answers=answers)
    assert (result.code, len(answers.ops)) == (FailureCode.SANDBOX_CRASHED, 1)


async def test_guest_that_forgets_its_limit_makes_no_more_requests(guest: Guest) -> None:
    """The guest's own copy of requests_count is its to change; the host counts too."""
    limits = Limits(requests_count=3)
    copied = struct.pack("<3I", int(limits.log_kib * KIB), limits.log_lines_count, limits.requests_count)

    def forget(isolate: Isolate, number: int) -> None:
        at = isolate.read(0, isolate.buffer_address).find(copied)
        assert number > 1 or at > 0
        if at > 0:
            poke(isolate, at + 8, (1000).to_bytes(4, "little"))

    body = "for (let i = 0; i < 10; i++) await Http.get('http://a.test/');"
    await guest.exec(body, perform=Answers())
    answers = Answers()
    with spoil_state(forget):
        result = await guest.exec(body, perform=answers, limits=limits)
    assert (result.code, len(answers.ops)) == (FailureCode.SANDBOX_CRASHED, 3)


async def test_op_larger_than_the_buffer_crashes_the_run(guest: Guest) -> None:
    """B2: also where the room beside the body would hold it."""
    answers = Answers()
    lie = forged_op(HEAD, b"x" * (MIB + 1))
    result = await run_with_lie(guest, lie, answers=answers, limits=Limits(buffer_mib=1))
    assert (result.code, answers.ops) == (FailureCode.SANDBOX_CRASHED, [])


async def test_huge_head_is_refused_before_it_is_parsed(guest: Guest) -> None:
    """Many small values cost the host many times their text, and its event loop the time: a head has its own cap."""
    answers = Answers()
    head = b'{"headers":{' + b",".join(b'"%d":[]' % i for i in range(500_000)) + b"}}"
    assert len(head) < 10 * MIB
    result = await run_with_lie(guest, forged_op(head), answers=answers)
    assert (result.code, answers.ops) == (FailureCode.SANDBOX_CRASHED, [])


async def test_answer_goes_into_the_buffer_only(guest: Guest) -> None:
    """B8: where the answer goes is the host's own knowledge; the guest cannot move it."""
    result = await run_with_lie(guest, lambda isolate: set_field(isolate, "buffer_address", 64))
    assert result.value == 1


@pytest.mark.parametrize("name", ["../x.js", "/etc/passwd", "lib/../../x.js", "a\\..\\b.js", "./x.js", "a//b.js", "file:x.js",
                                  "", "a\0b.js"])  # fmt: skip
async def test_names_that_the_compiling_guest_invents_are_not_asked_for(guest: Guest, name: str) -> None:
    asked: list[str] = []

    def read(module: str) -> str:
        asked.append(module)
        return "export const exec = () => 1;"

    def lie(isolate: Isolate, number: int) -> None:
        text = name.encode() + b"\n"
        poke(isolate, isolate.buffer_address, text)
        set_field(isolate, "part1_bytes", 0)
        set_field(isolate, "part2_bytes", len(text))

    with spoil_state(lie), pytest.raises(ScriptError) as caught:
        await guest.sandbox.gather("tool.js", read, Limits())
    assert (asked, caught.value.code) == (["tool.js"], FailureCode.SANDBOX_CRASHED)


@pytest.mark.parametrize("bytecode", [b"", b"\0" * 100, b"\xff" * 1000, bytes(range(256)) * 4], ids=range(4))
async def test_invented_bytecode_stays_inside_the_runs_own_wall(guest: Guest, bytecode: bytes) -> None:
    """M16: what a compilation leaves is read by runs of the same script only, inside their sandbox."""

    def lie(isolate: Isolate, number: int) -> None:
        poke(isolate, isolate.buffer_address, bytecode)
        set_field(isolate, "part1_bytes", len(bytecode))
        set_field(isolate, "part2_bytes", 0)

    with spoil_state(lie):
        result = await guest.run("export const exec = () => 'victim';")
    assert result.code is not None
    assert await guest.value("return 'other';") == "other"
