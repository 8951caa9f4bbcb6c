"""Closing, forking, and a machine that has no room: each ends in order, and no limit is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from tests.wall import Answers, Guest, program, reply

from keelbox_sandbox.contract import Call, Limits, Op, RefusedOp, Reply, Script
from keelbox_sandbox.wasm import WasmSandbox
from keelbox_sandbox.wasm.isolate import CrashError, Isolate

pytestmark = pytest.mark.anyio

SPIN = Script(entry="t.js", modules={"t.js": "export const exec = () => { for (;;); };"})
ONE = Script(entry="t.js", modules={"t.js": "export const exec = () => 1;"})


async def no_op(op: Op) -> Reply:
    raise AssertionError(op.kind)


async def test_a_closed_sandbox_takes_no_call() -> None:
    sandbox = WasmSandbox()
    await sandbox.aclose()
    with pytest.raises(RuntimeError, match="closed"):
        await sandbox.run(ONE, Call(), Limits(), no_op)


async def test_closing_waits_for_open_runs() -> None:
    """The run that is under way ends as it would have, and only then is the sandbox closed."""
    sandbox = WasmSandbox()
    asked, answered = anyio.Event(), anyio.Event()
    order: list[str] = []

    async def perform(op: Op) -> Reply:
        asked.set()
        await answered.wait()
        return reply(b"{}")

    async def run() -> None:
        source = (
            "import Http from 'system/http'; export const exec = async () => (await Http.get('http://a.test/')).status;"
        )
        result = await sandbox.run(Script(entry="t.js", modules={"t.js": source}), Call(), Limits(), perform)
        order.append(f"run {result.value}")

    async def close() -> None:
        await asked.wait()
        await sandbox.aclose()
        order.append("closed")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        tasks.start_soon(close)
        await asked.wait()
        await anyio.wait_all_tasks_blocked()
        answered.set()
    assert order == ["run 200", "closed"]


async def test_closing_one_sandbox_leaves_the_clock_to_the_others() -> None:
    first, second = WasmSandbox(), WasmSandbox()
    await first.run(ONE, Call(), Limits(), no_op)
    await first.aclose()
    result = await second.run(SPIN, Call(), Limits(cpu_s=0.1), no_op)
    assert result.code == "cpu-exceeded"
    await second.aclose()


async def test_closing_does_not_wait_for_other_sandboxes(guest: Guest) -> None:
    """Runs that follow each other without a pause keep the clock's thread; closing another sandbox must not wait for it."""
    closed = anyio.Event()

    async def busy() -> None:
        while not closed.is_set():
            await guest.value("for (let i = 0; i < 20000; i++); return 1;")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(busy)
        for _ in range(10):
            other = WasmSandbox()
            await other.run(ONE, Call(), Limits(), no_op)
            await other.aclose()
        closed.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_limits_hold_in_a_forked_child(tmp_path: Path) -> None:
    """The child has no thread of its parent's: it makes its own engine and clock, and its parent's sandbox says so."""
    source = textwrap.dedent(
        """
        import anyio, os, sys
        from keelbox_sandbox.contract import Call, Limits, Script
        from keelbox_sandbox.wasm import WasmSandbox

        SPIN = Script(entry="t.js", modules={"t.js": "export const exec = () => { for (;;); };"})

        async def spin(sandbox):
            return (await sandbox.run(SPIN, Call(), Limits(cpu_s=0.1, wall_s=5), None)).code

        async def fresh():
            async with WasmSandbox() as sandbox:
                return await spin(sandbox)

        parents = WasmSandbox()
        assert anyio.run(spin, parents) == "cpu-exceeded"
        if child := os.fork():
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        try:
            anyio.run(spin, parents)
        except RuntimeError as error:
            assert "fork" in str(error)
        else:
            os._exit(3)
        os._exit(0 if anyio.run(fresh) == "cpu-exceeded" else 4)
        """
    )
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", source],
        env={**os.environ, "PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


async def test_an_unusable_cache_folder_costs_time_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    source = (
        "import anyio\nfrom keelbox_sandbox.contract import *\nfrom keelbox_sandbox.wasm import WasmSandbox\n"
        "async def main():\n    async with WasmSandbox() as s:\n"
        "        script = Script(entry='t.js', modules={'t.js': 'export const exec = () => 7;'})\n"
        "        print((await s.run(script, Call(), Limits(), None)).value)\nanyio.run(main)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "KEELBOX_CACHE": str(tmp_path / "file" / "x")}
    done = await anyio.run_process([sys.executable, "-c", source], env=environment)
    assert done.stdout == b"7\n"


async def test_no_room_for_another_sandbox_is_a_result(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while compiling: `run` raises for nothing that the machine or the script does."""

    def refuse(*args: object, **sizes: object) -> None:
        raise CrashError("mmap failed to reserve 0x1 bytes")

    await guest.value("return 1;")
    monkeypatch.setattr(Isolate, "__init__", refuse)
    for body in ("return 1;", "return 2;"):
        result = await guest.exec(body)
        assert result.code == "sandbox-crashed"
        assert "could not be made" in (result.message or "")


async def test_a_request_that_was_never_sent_is_told_of(guest: Guest) -> None:
    answers = Answers()
    detached = await guest.exec("Http.post('http://a.test/', {a: 1}); return 1;", perform=answers)
    thrown = await guest.exec("Http.put('http://a.test/', 'x'); throw new Error('no');", perform=answers)
    assert [op.code for op in detached.refused_ops + thrown.refused_ops] == ["detached-op", "not-sent"]
    assert detached.refused_ops[0] == RefusedOp(kind="http", method="POST", url="http://a.test/", code="detached-op")
    assert answers.ops == []


async def test_an_observer_that_fails_ends_the_run(guest: Guest) -> None:
    answers = Answers()

    def observe(event: object) -> None:
        raise ValueError("the observer's own fault")

    with pytest.raises(ValueError, match="own fault"):
        await guest.exec("Log.info('one'); await Http.post('http://a.test/', 'x');", observe=observe, perform=answers)
    assert answers.ops == []


async def test_a_long_call_lets_other_tasks_run(guest: Guest) -> None:
    """A guest call that begins on the event loop moves away from it when it takes long."""
    turns = 0
    codes: list[str | None] = []

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        codes.append((await guest.run(program("spin_forever"), limits=Limits(cpu_s=0.3))).code)
        tasks.cancel_scope.cancel()
    assert codes == ["cpu-exceeded"]
    assert turns > 10
