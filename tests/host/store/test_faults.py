"""A store that cannot be used says what, where, why, and what to do; and nothing is changed by trying."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import Engine, event

from keelbox.conversation import open_conversation
from keelbox.errors import StoreError
from keelbox.store.sqlite import open_sqlite
from keelbox_sandbox.contract import Write

OPEN_AS_NOBODY = """
import os, sys
from pathlib import Path
from keelbox.errors import StoreError
from keelbox.store.sqlite import open_sqlite

if os.getuid() == 0:
    os.setuid(65534)
try:
    open_sqlite(Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""


def write(content: str) -> Write:
    return Write(agent_id="main", session_id="s", request_id=content[:20], content=content, bytes_count=len(content))


def make_store(path: Path) -> None:
    anyio.run(open_sqlite(path).aclose)


def refusal(path: Path) -> StoreError:
    with pytest.raises(StoreError) as caught:
        open_sqlite(path, busy_timeout_s=0)
    assert str(path) in caught.value.message
    assert caught.value.hint
    return caught.value


def test_text_file_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to hold the header of one" * 20)
    before = path.read_bytes()
    assert "it is not a SQLite database" in refusal(path).message
    assert path.read_bytes() == before


def test_database_of_something_else_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    before = path.read_bytes()
    assert "it is a database of something else (it has no table schema_version)" in refusal(path).message
    assert path.read_bytes() == before


def test_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    make_store(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE schema_version SET version_num = '0042'")
    error = refusal(path)
    assert "its schema is 0042, and this Keelbox knows 0001" in error.message
    assert error.hint == "it was made by a newer Keelbox: upgrade this one, or use another store"


def test_folder_is_no_store(tmp_path: Path) -> None:
    assert "it cannot be opened" in refusal(tmp_path).message


def test_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "it cannot be opened" in refusal(tmp_path / "file" / "store.db").message


def test_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    make_store(path)
    assert path.stat().st_size > 0


@pytest.fixture
def reachable_folder() -> Generator[Path]:
    """A folder that every user may enter, which a test's own is not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o700)


@pytest.mark.parametrize("is_there", [False, True], ids=["new", "existing"])
def test_no_permission(reachable_folder: Path, is_there: bool) -> None:
    path = reachable_folder / "store.db"
    if is_there:
        make_store(path)
        path.chmod(0o444)
    reachable_folder.chmod(0o555)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.run(
        [sys.executable, "-c", OPEN_AS_NOBODY, str(path)], env=environment, capture_output=True, text=True, check=True
    )
    assert child.stdout.startswith("cannot ")
    assert f"in the conversation store {path}: " in child.stdout
    assert "this user" in child.stdout.split("hint: ")[1]
    assert stat.S_IMODE(reachable_folder.stat().st_mode) == 0o555


def test_lock_held_too_long_at_opening(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "another process held it locked for too long" in refusal(path).message


@pytest.mark.anyio
async def test_lock_held_too_long_at_commit(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with aclosing(open_sqlite(path, busy_timeout_s=0)) as conversation:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match=r"cannot commit run 1 in .* locked for too long") as caught:
                await conversation.commit("1", [write("a")])
            other.execute("ROLLBACK")
        assert str(path) in caught.value.message
        assert len(await conversation.commit("1", [write("a")])) == 1


@pytest.mark.anyio
async def test_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with aclosing(await open_conversation(path)) as conversation:
        await conversation.commit("1", [write("x" * 100_000)])
    intact = path.read_bytes()
    path.write_bytes(intact[:8192] + b"\xff" * (len(intact) - 8192))
    with pytest.raises(StoreError, match="the file is damaged"):
        async with aclosing(await open_conversation(path)) as conversation:
            await conversation.messages("main", "s")


@pytest.fixture
def small_disk() -> Generator[None]:
    """Let every database that is opened now grow to 60 pages (240 KiB) and no further."""

    def limit(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA max_page_count = 60")

    event.listen(Engine, "connect", limit)
    yield
    event.remove(Engine, "connect", limit)


@pytest.mark.anyio
@pytest.mark.usefixtures("small_disk")
async def test_full_disk_writes_nothing(tmp_path: Path) -> None:
    """T15: the third of three writes no longer fits."""
    async with aclosing(await open_conversation(tmp_path / "store.db")) as conversation:
        (kept,) = await conversation.commit("1", [write("before")])
        with pytest.raises(StoreError, match="the disk is full") as caught:
            await conversation.commit("2", [write(letter * 80_000) for letter in "abc"])
        assert caught.value.hint == "free some space, then try again; nothing was written"
        assert await conversation.messages("main", "s") == [kept]
        assert len(await conversation.commit("2", [write(letter * 80_000) for letter in "ab"])) == 2
