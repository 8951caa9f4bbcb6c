"""Fixtures of the host's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from keelbox_sandbox.wasm import WasmSandbox


@pytest.fixture
async def sandbox() -> AsyncIterator[WasmSandbox]:
    """A real sandbox, closed after the test."""
    async with WasmSandbox() as opened:
        yield opened
