"""Stops that come at a bad moment: twice, swallowed by the script, or from a signal handler. The process outlives each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from tests.wall import Answers, Guest

from keelbox_sandbox.contract import Limits

pytestmark = pytest.mark.anyio

HEAD = """
import signal, sys, threading
import anyio
from anyio.lowlevel import current_token
from keelbox_sandbox.contract import Call, Limits, Script
from keelbox_sandbox.wasm import WasmSandbox

def script(body):
    return Script(entry="t.js", modules={"t.js": "export const exec = () => { " + body + " };"})
"""


def process(source: str) -> subprocess.CompletedProcess[str]:
    """A crash of the process must not be one of the test's own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(source)],
        env=environment, check=False, capture_output=True, text=True, timeout=50,
    )  # fmt: skip


def test_second_bare_cancellation_frees_nothing_under_a_worker() -> None:
    """The task is cancelled natively, twice, while a worker thread runs its guest."""
    done = process(
        """
        async def main():
            loop = current_token().native_token
            async with WasmSandbox() as sandbox:
                for _ in range(8):
                    task = loop.create_task(sandbox.run(script("for (;;);"), Call(), Limits(), None))
                    await anyio.sleep(0.05)
                    task.cancel()
                    await anyio.sleep(0)
                    task.cancel()
                    while not task.done():
                        await anyio.sleep(0.001)
                    assert task.cancelled()
                print((await sandbox.run(script("return 7;"), Call(), Limits(), None)).value)
        anyio.run(main)
        """
    )
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


async def test_script_that_swallows_the_stop_is_over(guest: Guest) -> None:
    """A loop in an iterator's `return` during a throw ends in the throw: the soft stop is gone, and no tick may follow."""
    answers = Answers()
    body = """
        const endless = { [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }), return() { for (;;); } }) };
        try { for (const x of endless) throw 5; } catch {}
        for (let i = 0; i < 20; i++) await Http.post('http://a.test/', 'sent after the stop');
        return 20;
    """
    result = await guest.exec(body, limits=Limits(cpu_s=0.05), perform=answers)
    assert (result.code, answers.ops) == ("cpu-exceeded", [])


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no SIGALRM")
def test_signal_handler_that_raises_comes_up_in_the_caller() -> None:
    """The guest runs in the main thread, where Python runs handlers; none may run inside the guest's call."""
    done = process(
        """
        class Alarm(Exception): pass
        def ring(*_): raise Alarm
        signal.signal(signal.SIGALRM, ring)

        async def main():
            async with WasmSandbox() as sandbox:
                work = script("for (let k = 0; k < 3000; k++) Date.now(); return 1;")
                assert (await sandbox.run(work, Call(), Limits(), None)).value == 1
                for _ in range(20):
                    try:
                        signal.setitimer(signal.ITIMER_REAL, 0.002)
                        while True:
                            await sandbox.run(work, Call(), Limits(), None)
                    except Alarm:
                        pass
                print((await sandbox.run(work, Call(), Limits(), None)).value)
        anyio.run(main)
        """
    )
    crashed = done.returncode < 0
    assert not crashed, done.stderr
    assert "sandbox-crashed" not in done.stdout
