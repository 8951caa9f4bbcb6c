"""Fixtures for every test that runs a script.

`runtime` goes through the sandboxes that exist, `guest` through the languages that a runtime speaks: a test that takes
one of them is run for each. A further runtime or language is one more line in `RUNTIMES`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from tests.wall import Guest, Language

from keelbox_sandbox.contract import Sandbox
from keelbox_sandbox.wasm import WasmSandbox

RUNTIMES: dict[str, tuple[Callable[[], Sandbox], tuple[Language, ...]]] = {"wasm": (WasmSandbox, ("js",))}
GUESTS = [(name, language) for name, (_, languages) in RUNTIMES.items() for language in languages]


@pytest.fixture(params=list(RUNTIMES))
async def runtime(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    """A sandbox of each kind, closed after the test."""
    make, _ = RUNTIMES[request.param]
    opened = make()
    yield opened
    await opened.aclose()


@pytest.fixture(params=GUESTS, ids=[f"{name}-{language}" for name, language in GUESTS])
async def guest(request: pytest.FixtureRequest) -> AsyncIterator[Guest]:
    """A sandbox of each kind, with each language that it runs."""
    name, language = request.param
    opened = RUNTIMES[name][0]()
    yield Guest(sandbox=opened, language=language)
    await opened.aclose()
