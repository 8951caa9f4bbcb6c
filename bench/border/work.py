"""The work that everybody does: one fresh sandbox, one host call that brings a short JSON text, a small result back."""

from __future__ import annotations

import json

import anyio

from keelbox_sandbox.contract import Script

__all__ = ["BODY", "NO_OP_SCRIPT", "ONE_OP_SCRIPT", "RESULT", "URL", "Gate", "check"]

URL = "http://service.example/places"
BODY = json.dumps({"results": [{"id": i} for i in range(10)]})
"""The host's answer. A text for all contenders: an HTTP body is one, and each of them carries a text fastest."""

RESULT = {"ok": True, "n": 10}

ONE_OP_SCRIPT = Script(
    entry="one-op.js",
    modules={
        "one-op.js": f"""
import Http from 'system/http';
export const exec = async () => {{
    const reply = await Http.getJson('{URL}');
    return {{ ok: reply.ok, n: reply.body.results.length }};
}};
"""
    },
)
NO_OP_SCRIPT = Script(
    entry="no-op.js", modules={"no-op.js": "export const exec = async () => ({ ok: true, n: 10 });\n"}
)


def check(value: object) -> None:
    """Hold that a run did the work.

    Raises:
        RuntimeError: it gave something else.
    """
    if value != RESULT:
        raise RuntimeError(f"a run gave {value!r} instead of {RESULT!r}")


class Gate:
    """Answers the host calls: at once, or, while it is shut, when it is opened again."""

    def __init__(self) -> None:
        self._opened: anyio.Event | None = None
        self._all_wait = anyio.Event()
        self._expected_count = 0
        self._waiting_count = 0

    async def answer(self) -> str:
        """Give the text."""
        if self._opened is not None:
            self._waiting_count += 1
            if self._waiting_count == self._expected_count:
                self._all_wait.set()
            await self._opened.wait()
        return BODY

    def shut(self, expected_count: int) -> None:
        """Let the next calls wait; so many are expected."""
        self._opened, self._all_wait = anyio.Event(), anyio.Event()
        self._expected_count, self._waiting_count = expected_count, 0

    async def all_wait(self) -> None:
        """Wait until as many calls wait as were expected."""
        await self._all_wait.wait()

    def open(self) -> None:
        """Answer those who wait, and all later calls at once."""
        if self._opened is not None:
            self._opened.set()
        self._opened = None
