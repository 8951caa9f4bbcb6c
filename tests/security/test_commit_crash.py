"""A host that dies, or a disk that fails, in the middle of a commit leaves all of a run's writes or none (T15)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path

import anyio
import pytest

from keelbox.conversation import open_conversation
from keelbox.outcome import Message

WRITES_COUNT = 20

COMMITTER = """
import sys
from pathlib import Path
import anyio
from keelbox.conversation import open_conversation
from keelbox_sandbox.contract import Write

def write(run, number):
    name = f"{run}.{number}"
    return Write(agent_id="main", session_id="s", request_id=name, content="x" * 100_000, bytes_count=100_000)

async def main(path, writes_count):
    conversation = await open_conversation(Path(path))
    for run in range(1000):
        print("begin", run, flush=True)
        await conversation.commit(str(run), [write(run, number) for number in range(int(writes_count))])
        print("done", run, flush=True)

anyio.run(main, *sys.argv[1:])
"""

COMMIT_UNDER_FILE_LIMIT = """
import resource, sys
from pathlib import Path
import anyio
from keelbox.conversation import open_conversation
from keelbox.errors import StoreError
from keelbox_sandbox.contract import Write

async def main(path, limit_bytes):
    conversation = await open_conversation(Path(path))
    writes = [
        Write(agent_id="main", session_id="s", request_id=str(number), content="x" * 100_000, bytes_count=100_000)
        for number in range(20)
    ]
    await conversation.commit("small", writes[:1])
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit_bytes), hard))
    try:
        await conversation.commit("large", writes)
    except StoreError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    print(len(await conversation.messages("main", "s")))
    print(len(await conversation.commit("large", writes)))

anyio.run(main, *sys.argv[1:])
"""


@contextmanager
def child(script: str, *arguments: object) -> Generator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def kill(process: subprocess.Popen[str], lines: Sequence[str]) -> set[str]:
    """Kill a committer; tell which runs it was told are committed."""
    os.kill(process.pid, signal.SIGKILL)
    assert process.stdout is not None
    told = [*lines, *process.stdout]
    assert process.wait() == -signal.SIGKILL
    return {line.split()[1] for line in told if line.startswith("done")}


def stored(path: Path) -> list[Message]:
    async def read() -> list[Message]:
        async with aclosing(await open_conversation(path)) as conversation:
            return await conversation.messages("main", "s")

    return anyio.run(read)


def file_bytes(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def check_whole(path: Path, told: set[str]) -> None:
    counts = Counter(message.run_id for message in stored(path))
    assert {run: count for run, count in counts.items() if count != WRITES_COUNT} == {}
    assert told <= counts.keys()


@pytest.mark.parametrize("lines_count", range(1, 9))
def test_killed_at_a_line(tmp_path: Path, lines_count: int) -> None:
    """Odd lines are just before a commit, even ones just after."""
    path = tmp_path / "store.db"
    with child(COMMITTER, path, WRITES_COUNT) as process:
        told = kill(process, read_lines(process, lines_count))
    assert len(told) >= lines_count // 2
    check_whole(path, told)


@pytest.mark.parametrize("seed", range(7))
def test_killed_as_the_log_grows(tmp_path: Path, seed: int) -> None:
    """The first commit takes 2 MB of write-ahead log; killed when it has so much of it or a little more."""
    path, log = tmp_path / "store.db", tmp_path / "store.db-wal"
    enough_bytes = random.Random(seed).randrange(100_000, 2_000_000)
    with child(COMMITTER, path, WRITES_COUNT) as process:
        lines = read_lines(process, 1)
        while file_bytes(log) < enough_bytes:
            assert process.poll() is None
        told = kill(process, lines)
    check_whole(path, told)


@pytest.mark.parametrize("lines_count", [1, 2])
def test_killed_commit_can_be_asked_for_again(tmp_path: Path, lines_count: int) -> None:
    path = tmp_path / "store.db"
    with child(COMMITTER, path, WRITES_COUNT) as process:
        kill(process, read_lines(process, lines_count))
    before = [message.id for message in stored(path)]
    with child(COMMITTER, path, WRITES_COUNT) as process:
        kill(process, read_lines(process, 2))
    after = [message.id for message in stored(path) if message.run_id == "0"]
    assert len(after) == WRITES_COUNT
    assert before[:WRITES_COUNT] in ([], after)


@pytest.mark.parametrize("limit_bytes", [200_000, 1_000_000, 1_900_000])
def test_disk_that_refuses_a_write(tmp_path: Path, limit_bytes: int) -> None:
    """A real limit on file sizes, met in the middle of a commit: an error, none of the writes, and no harm after it."""
    with child(COMMIT_UNDER_FILE_LIMIT, tmp_path / "store.db", limit_bytes) as process:
        output, _ = process.communicate()
    told, counts = output.split("\n\nhint: ")
    assert told.startswith("cannot commit run large in the conversation store ")
    assert "the disk refused a read or a write" in told
    assert counts.split("\n")[1:] == ["1", "20", ""]
