"""system/tools as a script sees it."""

from __future__ import annotations

import re

import pytest
from tests.wall import Guest

from keelbox_sandbox.contract import FailureCode, Limits

pytestmark = pytest.mark.anyio

UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_uuid_is_version_4(guest: Guest) -> None:
    values = await guest.value("return Array.from({ length: 50 }, () => Tools.generateUUID());")
    assert all(UUID4.fullmatch(value) for value in values)


async def test_uuids_never_repeat(guest: Guest) -> None:
    """B30: 100,000 of them, across runs."""
    body = "return Array.from({ length: 20000 }, () => Tools.generateUUID());"
    seen: set[str] = set()
    for _ in range(5):
        seen.update(await guest.value(body, limits=Limits(cpu_s=20)))
    assert len(seen) == 100_000


async def test_uuid_bits_are_random(guest: Guest) -> None:
    """Each of the 122 bits is set in about half of 2,000 (twelve standard deviations allowed)."""
    values = await guest.value("return Array.from({ length: 2000 }, () => Tools.generateUUID());")
    numbers = [int(value.replace("-", ""), 16) for value in values]
    fixed = {*range(76, 80), 62, 63}
    counts = [sum(number >> bit & 1 for number in numbers) for bit in range(128) if bit not in fixed]
    assert all(abs(count - 1000) < 12 * 22.4 for count in counts)


async def test_refused_error_is_an_error(guest: Guest) -> None:
    body = """
      const error = new Tools.ToolRefusedError('why');
      return [error instanceof Error, error.name, error.message, typeof error.stack, String(error)];
    """
    assert await guest.value(body) == [True, "ToolRefusedError", "why", "string", "ToolRefusedError: why"]


async def test_refused_error_without_text(guest: Guest) -> None:
    result = await guest.exec("throw new Tools.ToolRefusedError();")
    assert (result.code, result.message) == (FailureCode.REFUSED, "the tool refused")


async def test_refused_error_in_a_module_that_loads(guest: Guest) -> None:
    result = await guest.run("import { ToolRefusedError } from 'system/tools'; throw new ToolRefusedError('early');")
    assert (result.code, result.message) == (FailureCode.REFUSED, "early")
