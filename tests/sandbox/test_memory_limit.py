"""heap_mib: the first refusal can be caught, the second cuts the run, and garbage does not count."""

from __future__ import annotations

import pytest
from tests.wall import MIB, Answers, Guest, reply

from keelbox_sandbox.contract import FailureCode, Limits

pytestmark = pytest.mark.anyio

SMALL = Limits(heap_mib=4, cpu_s=30)


async def test_out_of_memory_can_be_caught_once(guest: Guest) -> None:
    body = """
      let kept = [];
      try { for (;;) kept.push('x'.repeat(10000) + kept.length); } catch (error) { kept = null; return error.message; }
    """
    assert await guest.value(body, limits=SMALL) == "out of memory"


async def test_tool_can_tell_of_it_and_return(guest: Guest) -> None:
    body = """
      try { new Uint8Array(2 ** 30); } catch (error) {
        Log.error('too much', error);
        Agent.setRootAgentPrompt('a', { prompt: JSON.stringify({ ok: false, error: String(error) }), sessionID: 's', requestID: 'r' });
        return (await Http.getJson('http://a.test/')).body;
      }
    """
    result = await guest.exec(body, limits=SMALL, perform=Answers(reply(b'{"a":[1,2,3]}')))
    assert (result.code, result.value, len(result.writes), len(result.logs)) == (None, {"a": [1, 2, 3]}, 1, 1)


async def test_second_refusal_cuts(guest: Guest) -> None:
    body = """
      for (let i = 0; i < 2; i++) { try { new Uint8Array(2 ** 30); } catch { Log.info(`caught ${i}`); } }
      return 'never';
    """
    result = await guest.exec(body, limits=SMALL)
    assert result.code == FailureCode.MEMORY_EXCEEDED
    assert [line.text for line in result.logs] == ["caught 0"]


async def test_uncaught_is_named_with_limit_place_and_hint(guest: Guest) -> None:
    result = await guest.exec("const kept = [];\nfor (;;) {\n  kept.push(new Array(100).fill(0));\n}", limits=SMALL)
    assert result.code == FailureCode.MEMORY_EXCEEDED
    assert result.message == "the script needs more than 4 MiB of memory (heap_mib)"
    assert result.location is not None and result.location[:2] == ("tool.js", 4)
    assert result.hint


@pytest.mark.parametrize(
    "kind", ["new Uint8Array(n)", "new ArrayBuffer(n)", "'é☃'.repeat(n / 4)", "new Array(n / 16).fill(0)"]
)
async def test_limit_is_where_it_is_said(guest: Guest, kind: str) -> None:
    """Three quarters of the limit fit in one piece, one and a quarter do not."""
    body = f"const sizes = []; for (const n of [{3 * MIB}, {5 * MIB}]) {{ try {{ sizes.push(({kind}).length ?? 'done'); }} catch {{ sizes.push('refused'); }} }} return sizes;"
    fits, refused = await guest.value(body, limits=SMALL)
    assert fits != "refused"
    assert refused == "refused"


async def test_memory_that_is_given_back_can_be_used_again(guest: Guest) -> None:
    body = "let sum = 0; for (let i = 0; i < 100; i++) sum += new Uint8Array(3 * 2 ** 20).length + 'x'.repeat(500000 + i).length; return sum;"
    assert await guest.value(body, limits=SMALL) > 100 * 3 * MIB


async def test_cyclic_garbage_does_not_add_up(guest: Guest) -> None:
    """Two hundred megabytes of rings pass through four."""
    body = "for (let i = 0; i < 200000; i++) { const a = { data: new Array(60).fill(i) }; a.self = a; } return 'done';"
    assert await guest.value(body, limits=SMALL) == "done"


async def test_large_blocks_of_cyclic_garbage_do_not_add_up(guest: Guest) -> None:
    body = "for (let i = 0; i < 200; i++) { const a = { data: new Uint8Array(500000) }; a.self = a; } return 'done';"
    assert await guest.value(body, limits=SMALL) == "done"


async def test_buffer_is_no_part_of_the_heap(guest: Guest) -> None:
    """An answer that is larger than the heap is refused in the guest, not in the host, and the run is named for it."""
    answers = Answers(reply(b"x" * (8 * MIB)))
    result = await guest.exec("await Http.get('http://a.test/');", limits=SMALL, perform=answers)
    assert result.code == FailureCode.MEMORY_EXCEEDED
    assert await guest.value("return (await Http.get('http://a.test/')).body.length;", perform=answers) == 8 * MIB


async def test_answer_that_does_not_fit_can_be_caught(guest: Guest) -> None:
    body = "return await Http.get('http://a.test/').catch((error) => error.message);"
    assert await guest.value(body, limits=SMALL, perform=Answers(reply(b"x" * (8 * MIB)))) == "out of memory"


async def test_staged_text_is_no_part_of_the_heap(guest: Guest) -> None:
    body = """
      const text = 'x'.repeat(2 ** 20);
      for (let i = 0; i < 16; i++) Agent.setRootAgentPrompt('a', { prompt: text, sessionID: 's', requestID: `${i}` });
    """
    result = await guest.exec(body, limits=SMALL)
    assert (result.code, sum(write.bytes_count for write in result.writes)) == (None, 16 * MIB)


async def test_peak_is_reported(guest: Guest) -> None:
    result = await guest.exec("new Uint8Array(10 * 2 ** 20); return 1;")
    assert 10 * MIB < result.usage.peak_heap_bytes < 12 * MIB


async def test_memory_of_a_failed_run_is_reported(guest: Guest) -> None:
    result = await guest.exec("const kept = []; for (;;) kept.push(new Uint8Array(100000));", limits=SMALL)
    assert 3 * MIB < result.usage.peak_heap_bytes <= 4 * MIB + 256 * 1024
