"""The first run of a fresh process, from its first import to the result: ``python -m bench.border.first_run``."""

from __future__ import annotations

import json
import time

__all__: list[str] = []


def main() -> None:
    began_s = time.perf_counter()
    import anyio  # here and below, because the imports are a part of what is measured

    from keelbox_sandbox.contract import Call, Limits, Op, Reply
    from keelbox_sandbox.wasm import WasmSandbox
    from keelbox_sandbox.wasm.engine import get_engine

    from .work import BODY, ONE_OP_SCRIPT, URL, check

    imported_s = time.perf_counter()
    engine = get_engine()
    engine_s = time.perf_counter()

    async def perform(op: Op) -> Reply:
        return Reply(head={"status": 200, "headers": {}, "url": URL}, body=BODY.encode())

    async def first() -> None:
        async with WasmSandbox() as sandbox:
            check((await sandbox.run(ONE_OP_SCRIPT, Call(), Limits(), perform)).value)

    anyio.run(first)
    figures = {
        "import_s": imported_s - began_s,
        "engine_s": engine_s - imported_s,
        "run_s": time.perf_counter() - engine_s,
    }
    print(json.dumps({"code_from": engine.code_from, "figures": figures}))


if __name__ == "__main__":
    main()
