"""Compute in the guest against the same engine compiled natively: ``python -m bench.border.compute REPEATS``.

Processor time of one thread, the best of some repeats; both parse the workload, and the guest's time holds the start
of its sandbox too (some 0.2 ms).
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from typing import Any

import anyio

from keelbox_sandbox.contract import Call, Limits, Op, Reply, Script
from keelbox_sandbox.wasm import WasmSandbox

from . import machine

__all__: list[str] = []

SUITE = {
    "fib": """
        const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
        return fib(25);
    """,
    "json": """
        const row = (i) => ({ id: i, name: 'row ' + i, tags: ['a', 'b', i], cost: i * 1.5 });
        const rows = Array.from({ length: 2000 }, (_, i) => row(i));
        const text = JSON.stringify(rows);
        let size = 0;
        for (let i = 0; i < 10; i++) size += JSON.stringify(JSON.parse(text)).length;
        return size;
    """,
    "regex": """
        const text = 'the quick brown fox 123-456 jumps over 2026-11-30 lazy dogs '.repeat(200);
        let found = 0;
        for (let i = 0; i < 20; i++) {
            for (const match of text.matchAll(/(\\d{4})-(\\d\\d)-(\\d\\d)/g)) found += match.length;
            found += text.split(/\\s+/).length + text.replace(/[aeiou]+/g, '').length;
        }
        return found;
    """,
    "sort": """
        let seed = 12345;
        const values = Array.from({ length: 30000 }, () => (seed = (seed * 1103515245 + 12345) % 2147483648));
        let sum = 0;
        for (let i = 0; i < 3; i++) sum += values.slice().sort((a, b) => a - b)[i];
        return sum;
    """,
    "string": """
        let text = '';
        for (let i = 0; i < 100000; i++) {
            text += 'x' + i;
            if (text.length > 10000) text = text.slice(5000);
        }
        const words = Array.from({ length: 20000 }, (_, i) => 'k' + i).join(',').split(',');
        return text.length + words.map((word) => word.toUpperCase()).join('').length;
    """,
}


def source(name: str) -> str:
    """The workload as an expression, the same for both."""
    return f"(() => {{{SUITE[name]}}})()"


async def no_op(op: Op) -> Reply:
    raise RuntimeError("the suite makes no requests")


async def guest_s(name: str, repeats_count: int) -> tuple[float, object]:
    """Best processor seconds in the guest, and the workload's value."""
    script = Script(
        entry="suite.js", modules={"suite.js": f"export const exec = () => (0, eval)({json.dumps(source(name))});"}
    )
    best_s, value = float("inf"), None
    async with WasmSandbox() as sandbox:
        for _ in range(repeats_count):
            result = await sandbox.run(script, Call(), Limits(cpu_s=30), no_op)
            if result.code is not None:
                raise RuntimeError(f"{name} ended as {result.code}: {result.message}")
            best_s, value = min(best_s, result.usage.cpu_s), result.value
    return best_s, value


def native_s(name: str, repeats_count: int) -> tuple[float, object]:
    """The same in PyPI's ``quickjs-ng``."""
    library: Any = import_module("quickjs")
    best_s, value = float("inf"), None
    for _ in range(repeats_count):
        context = library.Context()
        began_s = time.thread_time()
        value = context.eval(source(name))
        best_s = min(best_s, time.thread_time() - began_s)
    return best_s, value


def main(repeats_count: int) -> None:
    has_native = machine.version_of("quickjs-ng") is not None
    document: dict[str, dict[str, float | None]] = {}
    for name in SUITE:
        ours_s, ours = anyio.run(guest_s, name, repeats_count)
        theirs_s: float | None = None
        if has_native:
            theirs_s, theirs = native_s(name, repeats_count)
            if ours != theirs:
                raise RuntimeError(f"{name} gives {ours!r} in the guest and {theirs!r} natively")
        document[name] = {"guest_s": ours_s, "native_s": theirs_s}
    print(json.dumps(document))


if __name__ == "__main__":
    main(int(sys.argv[1]))
