"""Tries the walls: small hostile scripts, each run for real, each of which must come to nothing on this machine."""

from __future__ import annotations

import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from keelbox.conversation import MemoryConversation
from keelbox.egress.policy import EgressPolicy
from keelbox.outcome import Effects, Fate, RunOutcome
from keelbox.runner import Caller, run_script
from keelbox_sandbox.contract import MIB, FailureCode, Limits, Sandbox, Script

__all__ = ["Wall", "try_walls"]

_CALLER = Caller(agent_id="doctor", session_id="doctor")
_LIMITS = Limits(cpu_s=0.2, wall_s=5, heap_mib=8, buffer_mib=1)
_OVERSHOOT_S = 0.15
"""How late a cut may come (DESIGN, section 11)."""

_SPIN = "export const exec = () => { for (;;) {} };"
_SPIN_IN_BUILT_IN = "export const exec = () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);"
_SPIN_IN_REGEX = "export const exec = () => /^(a+)+$/.test('a'.repeat(5000) + 'b');"
_SPIN_IN_RESULT = "export const exec = () => ({ toJSON() { for (;;) {} } });"
_FILL_HEAP = "export const exec = () => { const kept = []; for (;;) kept.push('x'.repeat(100000) + kept.length); };"
_FILL_ARRAYS = "export const exec = () => { const kept = []; for (;;) kept.push(new Uint8Array(1 << 20).fill(1)); };"
_RECURSE = "const down = () => 1 + down();\nexport const exec = () => { try { down(); } catch (e) { return e.name; } };"
_GLOBALS = """
const names = ['fetch', 'require', 'process', 'std', 'os', 'WebAssembly', 'Worker', 'Deno', 'bjson', 'scriptArgs'];
export const exec = () => names.filter((name) => name in globalThis);
"""
_LEAVE_FOLDER = "import secret from '../../etc/passwd';\nexport const exec = () => secret;"
_DISCARD = """
import Agent from 'system/agent';
export const exec = () => {
  Agent.setRootAgentPrompt('doctor', { prompt: 'half', sessionID: 'doctor', requestID: 'r1' });
  throw new Error('on purpose');
};
"""
_REMEMBER = "export const exec = () => { const seen = globalThis.left; globalThis.left = 1; return seen ?? null; };"
_REACH = """
import Http from 'system/http';
export const exec = async () => { try { await Http.get('%s'); } catch (e) { return e.code; } };
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """One wall, and whether it held."""

    name: str
    held: bool
    detail: str
    ms: float


async def try_walls(sandbox: Sandbox) -> list[Wall]:
    """Try every wall. What a failing one lets through stays small: the scripts only try to get somewhere."""
    tries: Sequence[tuple[str, Callable[[Sandbox], Awaitable[tuple[bool, str]]]]] = (
        ("cpu_s: an endless loop is cut", lambda box: _cut(box, _SPIN)),
        ("cpu_s: inside a built-in too", lambda box: _cut(box, _SPIN_IN_BUILT_IN)),
        ("cpu_s: inside a regular expression too", lambda box: _cut(box, _SPIN_IN_REGEX)),
        ("cpu_s: while the result is read too", lambda box: _cut(box, _SPIN_IN_RESULT)),
        ("heap_mib: strings without end", lambda box: _full(box, _FILL_HEAP)),
        ("heap_mib: typed arrays without end", lambda box: _full(box, _FILL_ARRAYS)),
        ("stack_kib: recursion without end", _recursion),
        ("modules: no way out of the folder", _folder),
        ("globals: no other way to the world", _globals),
        ("egress: this machine is out of reach", _loopback),
        ("writes: those of a failed run are discarded", _discarded),
        ("runs: nothing of one is seen in the next", _fresh),
    )
    walls: list[Wall] = []
    for name, attempt in tries:
        begun_s = time.perf_counter()
        held, detail = await attempt(sandbox)
        walls.append(Wall(name=name, held=held, detail=detail, ms=(time.perf_counter() - begun_s) * 1000))
    return walls


async def _run(sandbox: Sandbox, source: str, conversation: MemoryConversation | None = None) -> RunOutcome:
    return await run_script(
        sandbox=sandbox,
        script=Script(entry="probe.js", modules={"probe.js": source}),
        call_input=None,
        caller=_CALLER,
        limits=_LIMITS,
        egress=EgressPolicy(),
        conversation=conversation or MemoryConversation(),
    )


def _told(outcome: RunOutcome) -> str:
    return f"{outcome.code}: {outcome.message}" if outcome.code else f"it returned {outcome.result!r}"


async def _cut(sandbox: Sandbox, source: str) -> tuple[bool, str]:
    outcome = await _run(sandbox, source)
    over_s = outcome.certificate.usage.cpu_s - _LIMITS.cpu_s
    held = outcome.code is FailureCode.CPU_EXCEEDED and over_s <= _OVERSHOOT_S
    return held, f"cut {over_s * 1000:.0f} ms after the limit" if held else _told(outcome)


async def _full(sandbox: Sandbox, source: str) -> tuple[bool, str]:
    outcome = await _run(sandbox, source)
    peak_bytes = outcome.certificate.usage.peak_heap_bytes
    stopped = outcome.code in (FailureCode.MEMORY_EXCEEDED, FailureCode.THREW)
    held = stopped and peak_bytes <= _LIMITS.heap_bytes
    return held, f"stopped at {peak_bytes / MIB:.1f} of {_LIMITS.heap_mib:g} MiB" if held else _told(outcome)


async def _recursion(sandbox: Sandbox) -> tuple[bool, str]:
    outcome = await _run(sandbox, _RECURSE)
    return outcome.result == "RangeError", "a RangeError" if outcome.result == "RangeError" else _told(outcome)


async def _folder(sandbox: Sandbox) -> tuple[bool, str]:
    outcome = await _run(sandbox, _LEAVE_FOLDER)
    return outcome.code is FailureCode.LOAD_FAILED, _told(outcome)


async def _globals(sandbox: Sandbox) -> tuple[bool, str]:
    outcome = await _run(sandbox, _GLOBALS)
    held = outcome.code is None and outcome.result == []
    return held, "none is there" if held else _told(outcome)


async def _loopback(sandbox: Sandbox) -> tuple[bool, str]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.setblocking(False)
        outcome = await _run(sandbox, _REACH % f"http://127.0.0.1:{server.getsockname()[1]}/")
        try:
            server.accept()[0].close()
        except BlockingIOError:
            connected = False
        else:
            connected = True
    fates = [op.fate for op in outcome.certificate.ops]
    held = not connected and outcome.result == "denied" and fates == [Fate.REFUSED]
    return held, "denied, and no connection was made" if held else f"{_told(outcome)}; connected: {connected}"


async def _discarded(sandbox: Sandbox) -> tuple[bool, str]:
    conversation = MemoryConversation()
    outcome = await _run(sandbox, _DISCARD, conversation)
    left = await conversation.messages(_CALLER.agent_id, _CALLER.session_id)
    held = outcome.code is FailureCode.THREW and not left and outcome.certificate.effects is Effects.NONE
    return held, "the conversation is empty" if held else f"{_told(outcome)}; {len(left)} messages are there"


async def _fresh(sandbox: Sandbox) -> tuple[bool, str]:
    outcomes = [await _run(sandbox, _REMEMBER) for _ in range(2)]
    held = all(outcome.code is None and outcome.result is None for outcome in outcomes)
    return held, "the second saw nothing" if held else _told(outcomes[1])
