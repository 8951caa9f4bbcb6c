"""One run from the wall's side: the shortest way to say a test of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from keelbox_sandbox.contract import Call, Event, Limits, Op, Perform, Reply, RunResult, Sandbox, Script

__all__ = ["KIB", "LIMITS", "MIB", "Answers", "Guest", "Language", "json_reply", "no_op", "program", "reply"]

Language: TypeAlias = Literal["js"]

KIB = 1024
MIB = 1024 * KIB
LIMITS = Limits(cpu_s=5, wall_s=20)
"""Roomy for what a test does, and short of the test's own time limit."""

HEAD = (
    "import Agent from 'system/agent'; import Http from 'system/http'; "
    "import Log from 'system/log'; import Tools from 'system/tools'; "
)
_PROGRAMS = Path(__file__).parent / "guests"


async def no_op(op: Op) -> Reply:
    """For scripts that ask for nothing."""
    raise AssertionError(f"the script made an op: {op.kind}")


def reply(body: bytes = b"", *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """An HTTP answer."""
    return Reply(head={"status": status, "headers": dict(headers or {}), "url": "http://a.test/"}, body=body)


def json_reply(value: Any, *, status: int = 200) -> Reply:
    """An HTTP answer with a JSON body; as an agent's answer its head is more than is asked for, and ignored."""
    return reply(json.dumps(value).encode(), status=status)


class Answers:
    """Performs ops by giving prepared answers in turn, the last one again and again; keeps what was asked in ``ops``."""

    def __init__(self, *answers: Reply | BaseException) -> None:
        self._answers = list(answers) or [reply()]
        self.ops: list[Op] = []

    async def __call__(self, op: Op) -> Reply:
        self.ops.append(op)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def program(name: str, language: Language = "js") -> str:
    """The source of a guest program in ``tests/guests``."""
    return (_PROGRAMS / f"{name}.{language}").read_text("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A sandbox, and the language in which a test speaks to it."""

    sandbox: Sandbox
    language: Language

    def script(self, source: str, modules: Mapping[str, str] | None = None) -> Script:
        """A script whose entry is ``tool.js``, with further modules by name."""
        entry = f"tool.{self.language}"
        return Script(entry=entry, modules={entry: source, **(modules or {})})

    def exec_source(self, body: str) -> str:
        """A module whose ``exec`` has this body, from line 2 on, with the four system modules imported."""
        return f"{HEAD}export const exec = async (input, ambient, ctx) => {{\n{body}\n}};"

    async def run(
        self,
        source: str | Script,
        *,
        call: Call | None = None,
        limits: Limits = LIMITS,
        perform: Perform = no_op,
        observe: Callable[[Event], None] | None = None,
    ) -> RunResult:
        """Run a module, or a whole script."""
        script = self.script(source) if isinstance(source, str) else source
        return await self.sandbox.run(script, call or Call(), limits, perform, observe)

    async def exec(
        self,
        body: str,
        *,
        call: Call | None = None,
        limits: Limits = LIMITS,
        perform: Perform = no_op,
        observe: Callable[[Event], None] | None = None,
    ) -> RunResult:
        """Run a body of ``exec``; see `exec_source`."""
        return await self.run(self.exec_source(body), call=call, limits=limits, perform=perform, observe=observe)

    async def value(
        self, body: str, *, call: Call | None = None, limits: Limits = LIMITS, perform: Perform = no_op
    ) -> Any:
        """What a body of ``exec`` returns; it must return cleanly."""
        result = await self.exec(body, call=call, limits=limits, perform=perform)
        assert result.code is None, (result.code, result.message, result.stack)
        return result.value
