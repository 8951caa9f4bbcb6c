"""The sandbox that the command line runs scripts in."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from keelbox.errors import UsageError

if TYPE_CHECKING:
    from keelbox_sandbox.contract import Sandbox

__all__ = ["open_sandbox"]


@asynccontextmanager
async def open_sandbox() -> AsyncGenerator[Sandbox, None]:
    """Open a sandbox, and close it again whatever happens.

    Raises:
        UsageError: its guest was never built (a checkout that was not installed).
    """
    from keelbox_sandbox.wasm import WasmSandbox, engine

    guest = engine.guest_path()
    if not await anyio.Path(guest).is_file():
        raise UsageError(f"the guest is not built: {guest.name} is missing", hint="in a checkout: pip install -e .")
    # Here, so that no run pays with its wall_s for what is Keelbox's own start.
    await anyio.to_thread.run_sync(engine.get_engine)
    sandbox = WasmSandbox()
    try:
        yield sandbox
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()
