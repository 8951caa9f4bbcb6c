"""What a command loads: ``--help`` next to nothing, a local run no library that it does not use."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

HEAVY = {
    "alembic",
    "httpcore2",
    "jsonschema_rs",
    "mako",
    "pydantic",
    "pydantic_core",
    "rich",
    "rich_click",
    "ruamel",
    "sqlalchemy",
    "sqlite3",
    "truststore",
    "urllib.request",
}
"""What costs tens of milliseconds each. ``ssl`` is not here: asyncio itself loads it (5 ms)."""

_IMPORT = re.compile(rb"^import time: +\d+ \| +\d+ \| +(\S+)$", re.MULTILINE)

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("KEELBOX_RUN_")},
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
}


def loaded(*arguments: str | Path) -> set[str]:
    """Run keelbox, and read from ``-X importtime`` what it loaded."""
    command: Sequence[str] = [sys.executable, "-X", "importtime", "-m", "keelbox", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return {name.decode() for name in _IMPORT.findall(done.stderr)}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "tool.js"
    path.write_text(
        "import Log from 'system/log';\nexport const exec = (input) => { Log.info('x'); return input; };", "utf-8"
    )
    return path


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help"), ("check", "--help")])
def test_help_loads_click_only(arguments: tuple[str, ...]) -> None:
    names = loaded(*arguments)
    assert "click" in names
    assert {name for name in names if name.startswith("keelbox")} <= {
        "keelbox",
        "keelbox.cli",
        *(f"keelbox.cli.{command}" for command in ("run", "check", "limits", "doctor")),
    }
    third_party = {"anyio", "asyncio", "wasmtime", "msgspec", "psutil", "uuid_utils", "platformdirs", "ssl"}
    assert names & (HEAVY | third_party) == set()


@pytest.mark.parametrize("options", [(), ("--json",), ("--context", "words"), ("--dry-run", "--limit", "wall_s=5")])
def test_local_run_loads_nothing_heavy(script: Path, options: tuple[str, ...]) -> None:
    names = loaded("run", script, *options)
    assert {"wasmtime", "keelbox.runner"} <= names
    assert names & HEAVY == set()
    assert {name for name in names if name.startswith("keelbox.ops.")} == set()


def test_library_itself_loads_nothing_heavy() -> None:
    code = "import keelbox, keelbox.errors, keelbox.outcome, keelbox.runner, keelbox_sandbox.contract"
    command = [sys.executable, "-X", "importtime", "-c", code]
    done = subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT)
    names = {name.decode() for name in _IMPORT.findall(done.stderr)}
    assert names & (HEAVY | {"click", "wasmtime"}) == set()
