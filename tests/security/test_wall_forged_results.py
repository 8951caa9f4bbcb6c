"""Results, failures and records that a guest invents (SECURITY B1, B2, §0.5, §0.6)."""

from __future__ import annotations

import struct

import pytest
from tests.faults import memory_bytes, poke, set_field
from tests.forgery import Lie, forged_outbox, forged_result, record, run_with_lie
from tests.wall import KIB, MIB, Answers, Guest

from keelbox_sandbox.contract import Event, FailureCode, Limits, LogLine, Progress, Write
from keelbox_sandbox.wasm.abi import Phase, Record
from keelbox_sandbox.wasm.isolate import Isolate

pytestmark = pytest.mark.anyio

CUT_BY_THE_HOST = (FailureCode.CPU_EXCEEDED, FailureCode.TIME_EXCEEDED, FailureCode.CANCELLED, FailureCode.SILENT)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_well_formed_lie_is_a_result(guest: Guest) -> None:
    result = await run_with_lie(guest, forged_result(b"[1]", b"{}", b'{"a":2}'))
    assert (result.code, result.value, result.session) == (None, [1], {"a": 2})


NOT_STRICT = [
    (b"", b"{}", b"{}"),
    (b"{", b"{}", b"{}"),
    (b"NaN", b"{}", b"{}"),
    (b'"\xff"', b"{}", b"{}"),
    (b'{"a":1,"a":2}', b"{}", b"{}"),
    (b"[" * 70 + b"]" * 70, b"{}", b"{}"),
    (b"[" * 200_000 + b"]" * 200_000, b"{}", b"{}"),
    (b"9" * 5000, b"{}", b"{}"),
    (b"1", b"[]", b"{}"),
    (b"1", b"{}", b"null"),
    (b"1", b'{"a":1e999}', b"{}"),
]


@pytest.mark.parametrize("parts", NOT_STRICT, ids=range(len(NOT_STRICT)))
async def test_result_that_is_not_strict_json_crashes_the_run(guest: Guest, parts: tuple[bytes, ...]) -> None:
    assert (await run_with_lie(guest, forged_result(*parts))).code == FailureCode.SANDBOX_CRASHED


@pytest.mark.parametrize("part", [0, 1, 2])
async def test_result_over_its_limit_crashes_the_run(guest: Guest, part: int) -> None:
    """The guest's own count is no wall: the host holds return_kib, dictionary_kib and session_kib too."""
    limits = Limits(return_kib=1, dictionary_kib=1, session_kib=1)
    for more_bytes, code in ((0, None), (1, FailureCode.SANDBOX_CRASHED)):
        parts = [b"{}", b"{}", b"{}"]
        parts[part] = b'{"a":"' + b"x" * (KIB - 8 + more_bytes) + b'"}'
        assert (await run_with_lie(guest, forged_result(*parts), limits=limits)).code == code


@pytest.mark.parametrize("phase", [Phase.NEW, 4, 2**31, 2**32 - 1])
async def test_phase_that_does_not_exist_crashes_the_run(guest: Guest, phase: int) -> None:
    result = await run_with_lie(guest, lambda isolate: set_field(isolate, "phase", phase))
    assert result.code == FailureCode.SANDBOX_CRASHED


@pytest.mark.parametrize("failure", range(14))
async def test_invented_failure_names_nothing_that_the_host_would_know(guest: Guest, failure: int) -> None:
    """Whether time was up only the host says, and a stack names the author's files only."""

    def lie(isolate: Isolate) -> None:
        texts = (b"Na\xffme", b"mess\0age", b"    at f (/etc/passwd:1:1)\n" * 100)
        poke(isolate, isolate.buffer_address, b"".join(texts))
        set_field(isolate, "phase", Phase.FAILED)
        set_field(isolate, "failure", failure)
        for number, text in enumerate(texts, start=1):
            set_field(isolate, f"part{number}_bytes", len(text))

    result = await run_with_lie(guest, lie)
    assert result.code is not None and result.code not in CUT_BY_THE_HOST
    assert (result.stack, result.location) == (None, None)


async def test_well_formed_records_are_events(guest: Guest) -> None:
    seen: list[Event] = []
    lie = forged_outbox((1, record(Record.LOG, 2, b"forged")), (-1, record(Record.WRITE, 0, b"a", b"s", b"r", b"text")))
    result = await run_with_lie(guest, lie, at=2, observe=seen.append)
    write = Write(agent_id="a", session_id="s", request_id="r", content="text", bytes_count=4)
    assert seen == [LogLine(level="info", text="forged"), write]
    assert (result.code, result.value) == (None, 1)


SAYS_NOTHING = [
    record(0, 0, b"x"),
    record(5, 0, b"x"),
    record(2**32 - 1, 0, b"x"),
    record(Record.LOG, 4, b"x"),
    record(Record.LOG, 2**31, b"x"),
    record(Record.LOG, 0),
    record(Record.LOG, 0, b"x", b"y"),
    record(Record.WRITE, 0, b"a", b"s", b"r"),
    record(Record.PROGRESS, 0, b"{"),
    record(Record.PROGRESS, 0, b"NaN"),
    record(Record.PROGRESS, 0, b"[" * 1000),
    record(Record.REFUSED, 0, b"http"),
]


@pytest.mark.parametrize("data", SAYS_NOTHING, ids=range(len(SAYS_NOTHING)))
async def test_record_that_says_nothing_is_left_out(guest: Guest, data: bytes) -> None:
    seen: list[Event] = []
    result = await run_with_lie(guest, forged_outbox((-1, data)), observe=seen.append)
    assert seen == []
    assert result.code in (None, FailureCode.SANDBOX_CRASHED)


LINE = record(Record.LOG, 0, b"x")
MALFORMED = {
    "a circle of one": forged_outbox((0, LINE)),
    "a circle of two empty blocks": forged_outbox((1, b""), (0, b"")),
    "a cut record": forged_outbox((-1, b"\1\0\0\0")),
    "2^32 - 1 texts": forged_outbox((-1, record(Record.LOG, 0, b"x", count=2**32 - 1))),
    "five texts": forged_outbox((-1, record(Record.LOG, 0, b"x", count=5, sizes=[1] * 5))),
    "a text of 2^32 - 1 bytes": forged_outbox((-1, record(Record.LOG, 0, b"x", sizes=[2**32 - 1]))),
    "a text one byte too long": forged_outbox((-1, record(Record.LOG, 0, b"x", sizes=[2]))),
    "texts of 2^33 bytes together": forged_outbox((-1, record(Record.WRITE, 0, b"x", count=4, sizes=[2**31] * 4))),
    "a block of 2^32 - 1 bytes": forged_outbox((-1, LINE), used_bytes=2**32 - 1),
    "a block of 2^31 bytes": forged_outbox((-1, LINE), used_bytes=2**31),
    "a block larger than all that is allowed": forged_outbox((-1, LINE), used_bytes=30 * MIB),
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_malformed_outbox_crashes_the_run(guest: Guest, name: str) -> None:
    seen: list[Event] = []
    answers = Answers()
    result = await run_with_lie(guest, MALFORMED[name], observe=seen.append, answers=answers)
    assert (result.code, answers.ops, seen) == (FailureCode.SANDBOX_CRASHED, [], [])


@pytest.mark.parametrize("address", [2**31, 2**32 - 12, 2**32 - 1])
async def test_outbox_elsewhere_is_no_reading_elsewhere(guest: Guest, address: int) -> None:
    """§0.5: nothing is read from the other end, and nothing short."""
    result = await run_with_lie(guest, lambda isolate: set_field(isolate, "outbox_address", address))
    assert result.code == FailureCode.SANDBOX_CRASHED


@pytest.mark.parametrize(
    ("room_bytes", "code"), [(12, None), (11, FailureCode.SANDBOX_CRASHED), (1, FailureCode.SANDBOX_CRASHED)]
)
async def test_outbox_at_the_very_end_of_memory(guest: Guest, room_bytes: int, code: FailureCode | None) -> None:
    def lie(isolate: Isolate) -> None:
        address = memory_bytes(isolate) - room_bytes
        poke(isolate, address, struct.pack("<3I", 0, 0, 0)[:room_bytes])
        set_field(isolate, "outbox_address", address)

    assert (await run_with_lie(guest, lie)).code == code


async def test_block_that_ends_one_byte_behind_memory_crashes_the_run(guest: Guest) -> None:
    def lie(isolate: Isolate) -> None:
        address = memory_bytes(isolate) - 12 - len(LINE)
        poke(isolate, address, struct.pack("<3I", 0, len(LINE) + 1, 0) + LINE)
        set_field(isolate, "outbox_address", address)

    assert (await run_with_lie(guest, lie)).code == FailureCode.SANDBOX_CRASHED


FLOODS = {
    "log text": record(Record.LOG, 0, b"x" * KIB) * 100,
    "log lines": record(Record.LOG, 0, b"") * 100,
    "writes": record(Record.WRITE, 0, b"a", b"s", b"r", b"x") * 100,
    "staged text": record(Record.WRITE, 0, b"a", b"s", b"r", b"x" * (300 * KIB)) * 4,
    "one message": record(Record.WRITE, 0, b"a", b"s", b"r", b"x" * (600 * KIB)),
    "identifiers": record(Record.WRITE, 0, b"a" * (900 * KIB), b"s", b"r", b"x"),
    "progress": record(Record.PROGRESS, 0, b"1") * 100_000,
    "large progress": record(Record.PROGRESS, 0, b"[" + b"[]," * 300_000 + b"1]"),
    "refused ops": record(Record.REFUSED, 0, b"http", b"GET", b"u", b"buffer-busy") * 50_000,
}


@pytest.mark.parametrize("name", FLOODS)
async def test_limits_of_the_outbox_are_the_hosts_too(guest: Guest, name: str) -> None:
    """A guest that does not keep the caps leaves no more with the host than one that does."""
    seen: list[Event] = []
    limits = Limits(log_kib=8, log_lines_count=20, writes_count=5, staged_mib=1, message_mib=0.5, wall_s=20)
    lie: Lie = forged_outbox((-1, FLOODS[name]))
    result = await run_with_lie(guest, lie, limits=limits, observe=seen.append)
    logs = [event for event in seen if isinstance(event, LogLine)]
    writes = [event for event in seen if isinstance(event, Write)]
    assert len(logs) <= 21
    assert sum(len(line.text) for line in logs) <= 9 * KIB
    assert len(writes) <= 5
    assert all(write.bytes_count <= MIB // 2 and len(write.agent_id) <= 256 for write in writes)
    assert sum(write.bytes_count for write in writes) <= MIB
    assert len(seen) <= 500
    assert all(len(repr(event.data)) < 5 * KIB for event in seen if isinstance(event, Progress))
    assert result.code in (None, FailureCode.SANDBOX_CRASHED)


async def test_text_that_is_not_utf8_becomes_text(guest: Guest) -> None:
    seen: list[Event] = []
    lie = forged_outbox((-1, record(Record.LOG, 0, b"a\xff\xed\xa0\x80")))
    await run_with_lie(guest, lie, at=2, observe=seen.append)
    assert [type(event) for event in seen] == [LogLine]
    assert isinstance(seen[0], LogLine) and seen[0].text.encode("utf-8").startswith(b"a\xef\xbf\xbd")
