"""Fixtures of the sandbox's tests."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """One is enough for what happens in the guest; tests of the event loop's side ask for both."""
    return "asyncio"
