"""The command line in this process, with its two streams and its exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from keelbox.cli import main

ANSWER = """
import Agent from 'system/agent';
import Tools from 'system/tools';
export const answer = (prompt) => Agent.setRootAgentPrompt(toolOptions.toolContext.agentId, {
    prompt, sessionID: toolOptions.agentNode.flowContext.sessionId, requestID: Tools.generateUUID(),
});
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Its one JSON document."""
        value: dict[str, Any] = json.loads(self.out)
        return value


class Keelbox(Protocol):
    """Runs ``keelbox`` with arguments."""

    def __call__(self, *arguments: str | Path) -> Done: ...


@pytest.fixture
def keelbox(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Keelbox:
    """The command line, without what the environment of the tests says about it."""
    for name in [name for name in os.environ if name.startswith("KEELBOX_RUN_")]:
        monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str | Path) -> Done:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Done(code=int(code), out=captured.out, err=captured.err)

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., Path]:
    """Writes a script whose ``exec`` has this body; ``answer(text)`` pushes a message to the caller."""

    def write(body: str, name: str = "tool.js", head: str = "") -> Path:
        (tmp_path / "answer.js").write_text(ANSWER, encoding="utf-8")
        path = tmp_path / name
        imports = (
            "import Http from 'system/http';\nimport Log from 'system/log';\nimport { answer } from './answer.js';\n"
        )
        source = f"{imports}{head}export const exec = async (input, ambient, ctx) => {{\n{body}\n}};\n"
        path.write_text(source, encoding="utf-8")
        return path

    return write
