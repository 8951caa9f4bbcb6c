"""Several processes with one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

WRITER = """
import sys
from pathlib import Path
import anyio
from keelbox.conversation import open_conversation
from keelbox_sandbox.contract import Write

async def main(path, name):
    conversation = await open_conversation(Path(path))
    for number in range(10):
        own = Write(agent_id="main", session_id="s", request_id=f"{name}.{number}", content=name, bytes_count=1)
        shared = Write(agent_id="main", session_id="s", request_id=f"shared {number}", content="shared", bytes_count=6)
        await conversation.commit(f"run {name}.{number}", [own, shared])
    await conversation.aclose()

sys.stdin.read()
anyio.run(main, *sys.argv[1:])
"""


def test_processes_share_one_new_file(tmp_path: Path) -> None:
    """All open at once, so that making the file is a race as well."""
    path = tmp_path / "store.db"
    names = ["a", "b", "c", "d"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stdin=subprocess.PIPE, env=environment)
        for name in names
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.close()
    assert [child.wait() for child in children] == [0, 0, 0, 0]
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT content FROM messages").fetchall()
    assert {name: found.count((name,)) for name in [*names, "shared"]} == {
        "a": 10, "b": 10, "c": 10, "d": 10, "shared": 10
    }  # fmt: skip
