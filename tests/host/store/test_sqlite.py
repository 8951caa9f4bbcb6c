"""The SQLite file: what is in it, who else may use it, what a commit that is cut leaves."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Sequence
from contextlib import aclosing, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

from keelbox.conversation import SessionChange, open_conversation, utc_now
from keelbox.store.schema import SCHEMA_VERSION
from keelbox_sandbox.contract import Write

pytestmark = pytest.mark.anyio


def write(content: str) -> Write:
    return Write(agent_id="main", session_id="s", request_id=content, content=content, bytes_count=len(content))


def query(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


async def test_file_and_new_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "store.db"
    async with aclosing(await open_conversation(path)) as conversation:
        await conversation.commit("run", [write("a")])
        assert modes(path.parent) == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
    assert modes(tmp_path) == {"new": 0o700}


async def test_closing_leaves_one_file(tmp_path: Path) -> None:
    conversation = await open_conversation(tmp_path / "store.db")
    await conversation.commit("run", [write("a")])
    await conversation.aclose()
    assert modes(tmp_path).keys() == {"store.db"}


async def test_file_is_stamped_and_write_ahead(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await (await open_conversation(path)).aclose()
    assert query(path, "SELECT version_num FROM schema_version") == [(SCHEMA_VERSION,)]
    assert query(path, "PRAGMA journal_mode") == [("wal",)]


async def test_messages_survive_reopening(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with aclosing(await open_conversation(path)) as conversation:
        await conversation.commit("run", [write("a"), write("b")])
    async with aclosing(await open_conversation(path)) as conversation:
        assert [message.content for message in await conversation.messages("main", "s")] == ["a", "b"]


async def test_order_outlives_deletion(tmp_path: Path) -> None:
    """A number in the sequence is never used twice, so that a later message cannot slip in before an earlier one."""
    path = tmp_path / "store.db"
    async with aclosing(await open_conversation(path)) as conversation:
        await conversation.commit("run 1", [write("a"), write("b")])
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("DELETE FROM messages WHERE content = 'b'")
        await conversation.commit("run 2", [write("c")])
    assert query(path, "SELECT seq, content FROM messages ORDER BY seq") == [(1, "a"), (3, "c")]


async def test_expired_session_data_is_wiped(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    async with aclosing(await open_conversation(path, now=lambda: moment)) as conversation:
        for name in ("old", "new"):
            change = SessionChange(session_id=name, version=0, data={"is": name}, ttl_s=60)
            await conversation.commit(f"run {name}", [], session=change)
            moment += timedelta(seconds=61)
    assert query(path, "SELECT session_id, data FROM sessions ORDER BY version, data") == [
        ("old", None),
        ("new", '{"is":"new"}'),
    ]


async def test_reader_goes_on_while_another_writes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with aclosing(await open_conversation(path)) as conversation:
        await conversation.commit("run", [write("a")])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("UPDATE messages SET content = 'changed'")
            assert [message.content for message in await conversation.messages("main", "s")] == ["a"]


async def test_commit_waits_for_another_process(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with aclosing(await open_conversation(path)) as conversation:
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(conversation.commit, "run", [write("a")])
                await anyio.wait_all_tasks_blocked()
                assert await conversation.messages("main", "s") == []
                other.execute("COMMIT")
        assert len(await conversation.messages("main", "s")) == 1


async def test_cancellation_does_not_cut_a_commit(tmp_path: Path) -> None:
    """T18: the cancellation comes while the transaction is open; the commit is whole, and its caller hears of it."""
    scope = anyio.CancelScope()

    def cancel_and_tell() -> datetime:
        anyio.from_thread.run_sync(scope.cancel)
        return utc_now()

    heard: Sequence[object] = ()
    async with aclosing(await open_conversation(tmp_path / "store.db", now=cancel_and_tell)) as conversation:
        with scope:
            heard = await conversation.commit("run", [write("a"), write("b")])
            await anyio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert await conversation.messages("main", "s") == list(heard)
        assert len(heard) == 2


async def cancel_when_all_wait(scope: anyio.CancelScope) -> None:
    await anyio.wait_all_tasks_blocked()
    scope.cancel()


async def test_commit_waiting_in_line_can_be_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with aclosing(await open_conversation(path)) as conversation:
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(conversation.commit, "run 1", [write("holds the thread")])
                await anyio.wait_all_tasks_blocked()
                with anyio.CancelScope() as scope:
                    tasks.start_soon(cancel_when_all_wait, scope)
                    await conversation.commit("run 2", [write("waits in line")])
                assert scope.cancelled_caught
                other.execute("COMMIT")
        assert [message.content for message in await conversation.messages("main", "s")] == ["holds the thread"]
