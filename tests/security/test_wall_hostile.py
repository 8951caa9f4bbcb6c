"""Every member of the hostile corpus ends as it should, and the next run is right (SECURITY R)."""

from __future__ import annotations

import pytest
from tests.hostile import CLEAN, ENDS, SOURCES, source
from tests.wall import Answers, Guest, json_reply

from keelbox_sandbox.contract import FailureCode, Limits, RunResult, ScriptError

pytestmark = pytest.mark.anyio

SMALL = {
    FailureCode.MEMORY_EXCEEDED: Limits(heap_mib=4, cpu_s=30),
    FailureCode.CPU_EXCEEDED: Limits(cpu_s=0.1),
}
"""Limits at which a program surely comes to the one that it is after."""

ONLY_ANSWERED = ("spin_in_a_setter_of_the_prototype",)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def check_honest(guest: Guest) -> None:
    answers = Answers(json_reply({"city": "Sofia"}))
    body = "return (await Http.getJson('http://a.test/')).body.city;"
    assert await guest.value(body, perform=answers) == "Sofia"
    assert len(answers.ops) == 1


def check_kind(result: RunResult) -> None:
    """A failure says what happened and, unless the script itself threw, what to do about it."""
    assert result.message
    assert result.hint or result.code == FailureCode.THREW
    assert (result.value, result.dictionary, result.session) == (None, None, None)


@pytest.mark.parametrize("name", ENDS)
async def test_ends_as_it_should(guest: Guest, name: str) -> None:
    code = None if ENDS[name] == CLEAN else FailureCode(ENDS[name])
    limits = SMALL.get(code, Limits(cpu_s=30)) if code else Limits(cpu_s=30)
    result = await guest.run(source(name), limits=limits, perform=Answers())
    assert result.code == code, result.message
    if code is not None:
        check_kind(result)
    await check_honest(guest)


@pytest.mark.parametrize("name", SOURCES)
async def test_source_that_is_hard_to_compile_is_cut(guest: Guest, name: str) -> None:
    """Compiling counts like running: its time, its memory, its stack."""
    result = await guest.run(source(name), limits=Limits(cpu_s=0.1, heap_mib=8))
    assert result.code in (FailureCode.LOAD_FAILED, FailureCode.CPU_EXCEEDED, FailureCode.MEMORY_EXCEEDED)
    check_kind(result) if result.code != FailureCode.LOAD_FAILED else None
    assert result.usage.cpu_s > 0
    await check_honest(guest)


@pytest.mark.parametrize("how", ["gather", "inspect"])
async def test_looking_at_a_script_is_cut_too(guest: Guest, how: str) -> None:
    """Nothing of a tool is parsed outside the limits, also where it is not run."""
    text = source("compile_many_private_names")
    with pytest.raises(ScriptError) as caught:
        if how == "gather":
            await guest.sandbox.gather("tool.js", lambda name: text, Limits(cpu_s=0.1))
        else:
            await guest.sandbox.inspect(guest.script(text), Limits(cpu_s=0.1))
    assert caught.value.code == FailureCode.CPU_EXCEEDED
    await check_honest(guest)


async def test_slow_compilation_is_cut_as_such(guest: Guest) -> None:
    result = await guest.run(source("compile_many_private_names"), limits=Limits(cpu_s=0.1))
    assert result.code == FailureCode.CPU_EXCEEDED
    assert 0.1 <= result.usage.cpu_s < 1


async def test_compilation_that_needs_much_memory_is_cut_as_such(guest: Guest) -> None:
    result = await guest.run(source("compile_many_functions"), limits=Limits(cpu_s=30, heap_mib=4))
    assert result.code == FailureCode.MEMORY_EXCEEDED


async def test_compilation_of_many_modules_shares_one_wall_time(guest: Guest) -> None:
    """The deadline is the run's, not each module's."""
    slow = source("compile_many_parentheses")
    entry = "".join(f"import './m{number}.js';" for number in range(6)) + "export const exec = () => 1;"
    script = guest.script(entry, {f"m{number}.js": f"{slow}//{number}" for number in range(6)})
    limits = Limits(cpu_s=60, wall_s=0.3, source_kib=8192)
    result = await guest.run(script, limits=limits)
    assert result.code == FailureCode.TIME_EXCEEDED
    assert result.usage.cpu_s < 2 * limits.wall_s


async def test_compilation_counts_for_the_run_that_follows(guest: Guest) -> None:
    """What compiling used of cpu_s is gone for the run: not twice the limit in all."""
    slow = "".join("(" * 200 + "1" + ")" * 200 + ";" for _ in range(500))
    first = await guest.run(f"{slow} export const exec = () => 1;", limits=Limits(cpu_s=30, wall_s=60))
    assert first.code is None, first.message
    limits = Limits(cpu_s=first.usage.cpu_s * 1.5, wall_s=60)
    result = await guest.run(f"{slow} for (;;);", limits=limits)
    assert result.code == FailureCode.CPU_EXCEEDED
    assert result.usage.cpu_s < limits.cpu_s + 0.2
