"""Who is measured: each opens what it keeps between runs, and then does one fresh run at a time.

The peers are used in the way that their own documentation shows, with what they may keep open (a runtime, an engine, a
pool of processes) kept open, and a sandbox without a past for each run.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from keelbox_sandbox.contract import Call, Limits, Op, Reply, Script
from keelbox_sandbox.wasm import WasmSandbox

from . import machine
from .work import BODY, NO_OP_SCRIPT, ONE_OP_SCRIPT, URL, Gate, check

__all__ = ["CONTENDERS", "Contender"]

Run: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
Open: TypeAlias = Callable[[Gate], AbstractAsyncContextManager[Run]]

WAIT_S = 60.0
"""What a waiting run may take at the peers, as it may here (``wall_s``)."""

RUNS_AT_ONCE_COUNT = 512
"""modebox sets room aside for so many runs; its own 256 are fewer than we let wait, and it is no slower with more."""

PEER_JS = f"const reply = JSON.parse(await get('{URL}')); ({{ ok: true, n: reply.results.length }})"
PEER_PYTHON = f"import json\nreply = json.loads(get('{URL}'))\n{{'ok': True, 'n': len(reply['results'])}}"
NODE_JS = f"""
process.stdout.write('{URL}\\n');
process.stdin.once('data', (data) => {{
    const reply = JSON.parse(data);
    process.stdout.write(JSON.stringify({{ ok: true, n: reply.results.length }}) + '\\n');
    process.exit(0);
}});
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One way to do the work."""

    title: str
    open: Open
    version: Callable[[], str | None]
    """The installed version, None if it is not installed."""
    is_peer: bool = True
    note: str = ""


def keelbox(script: Script) -> Open:
    @asynccontextmanager
    async def opened(gate: Gate) -> AsyncGenerator[Run]:
        call, limits = Call(), Limits()
        head: dict[str, Any] = {"status": 200, "headers": {}, "url": URL}

        async def perform(op: Op) -> Reply:
            return Reply(head=head, body=(await gate.answer()).encode())

        async with WasmSandbox() as sandbox:

            async def run() -> None:
                result = await sandbox.run(script, call, limits, perform)
                if result.code is not None:
                    raise RuntimeError(f"a run ended as {result.code}: {result.message}")
                check(result.value)

            yield run

    return opened


def _body(url: str) -> str:
    return BODY


@asynccontextmanager
async def quickjs_rs_sync(gate: Gate) -> AsyncGenerator[Run]:
    library: Any = import_module("quickjs_rs")
    source = PEER_JS.replace("await ", "")
    with library.Runtime() as runtime:

        async def run() -> None:
            with runtime.new_context(timeout=WAIT_S) as context:
                context.register("get", _body)
                check(context.eval(source))

        yield run


@asynccontextmanager
async def quickjs_rs_async(gate: Gate) -> AsyncGenerator[Run]:
    library: Any = import_module("quickjs_rs")

    async def get(url: str) -> str:
        return await gate.answer()

    with library.Runtime() as runtime:

        async def run() -> None:
            with runtime.new_context(timeout=WAIT_S) as context:
                context.register("get", get)
                check(await context.eval_async(PEER_JS))

        yield run


@asynccontextmanager
async def modebox(gate: Gate) -> AsyncGenerator[Run]:
    library: Any = import_module("modebox")

    async def get(url: str) -> str:
        return await gate.answer()

    functions = {"get": get}
    limits = library.Limits(timeout_ms=int(WAIT_S * 1000))
    with library.Runner(limits=limits, max_instances=RUNS_AT_ONCE_COUNT) as runner:

        async def run() -> None:
            check((await runner.run(PEER_JS, host_functions=functions)).value)

        yield run


@asynccontextmanager
async def monty_sync(gate: Gate) -> AsyncGenerator[Run]:
    library: Any = import_module("pydantic_monty")
    functions = {"get": _body}
    with library.Monty() as pool:

        async def run() -> None:
            with pool.checkout() as session:
                check(session.feed_run(PEER_PYTHON, external_lookup=functions))

        yield run


@asynccontextmanager
async def monty_async(gate: Gate) -> AsyncGenerator[Run]:
    library: Any = import_module("pydantic_monty")

    async def get(url: str) -> str:
        return await gate.answer()

    source, functions = PEER_PYTHON.replace("get(", "await get("), {"get": get}
    async with library.AsyncMonty() as pool:

        async def run() -> None:
            async with pool.checkout() as session:
                check(await session.feed_run(source, external_lookup=functions))

        yield run


@asynccontextmanager
async def node_process(gate: Gate) -> AsyncGenerator[Run]:
    node = shutil.which("node")

    async def run() -> None:
        with subprocess.Popen(  # noqa: ASYNC220 - nothing else is on this event loop
            [str(node), "-e", NODE_JS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            if process.stdout.readline().strip() != URL:
                raise RuntimeError("node did not ask")
            process.stdin.write(BODY + "\n")
            process.stdin.flush()
            check(json.loads(process.stdout.readline()))

    yield run


@asynccontextmanager
async def python_process(gate: Gate) -> AsyncGenerator[Run]:
    async def run() -> None:
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)  # noqa: ASYNC221 - as above

    yield run


def _version(package: str) -> Callable[[], str | None]:
    return lambda: machine.version_of(package)


def _ours() -> str:
    return "this checkout"


CONTENDERS: Mapping[str, Contender] = {
    "keelbox": Contender(title="keelbox, one op", open=keelbox(ONE_OP_SCRIPT), version=_ours, is_peer=False),
    "keelbox-no-op": Contender(title="keelbox, no op", open=keelbox(NO_OP_SCRIPT), version=_ours, is_peer=False),
    "quickjs-rs": Contender(
        title="quickjs-rs", open=quickjs_rs_sync, version=_version("quickjs-rs"),
        note="fresh context, plain host function",
    ),
    "quickjs-rs-async": Contender(
        title="quickjs-rs, async", open=quickjs_rs_async, version=_version("quickjs-rs"),
        note="fresh context, async host function",
    ),
    "modebox": Contender(
        title="modebox", open=modebox, version=_version("modebox"), note="fresh instance, async host function"
    ),
    "pydantic-monty": Contender(
        title="pydantic-monty", open=monty_sync, version=_version("pydantic-monty"),
        note="Python; fresh session in a pooled process, plain host function",
    ),
    "pydantic-monty-async": Contender(
        title="pydantic-monty, async", open=monty_async, version=_version("pydantic-monty"),
        note="the same, async host function",
    ),
    "node": Contender(
        title="node -e", open=node_process, version=machine.node_version,
        note="a process for each run, the call over a pipe; no wall",
    ),
    "python": Contender(
        title="python -I -S -c pass", open=python_process, version=platform.python_version,
        note="a process that does no work; no wall",
    ),
}  # fmt: skip
