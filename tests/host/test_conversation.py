"""What every conversation keeps, in memory and in SQLite."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from keelbox.conversation import (
    Conversation,
    MessagesTooLargeError,
    SessionChange,
    SessionConflict,
    open_conversation,
)
from keelbox.errors import InternalError, UsageError
from keelbox_sandbox.contract import Write

pytestmark = pytest.mark.anyio


class HandClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, 12, 0, 0, 250, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def move(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["memory", "sqlite"])
async def conversation(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock
) -> AsyncGenerator[Conversation]:
    opened = await open_conversation(None if request.param == "memory" else tmp_path / "store.db", now=clock)
    yield opened
    await opened.aclose()


def write(content: str, *, request_id: str | None = None, agent_id: str = "main", session_id: str = "session") -> Write:
    return Write(
        agent_id=agent_id,
        session_id=session_id,
        request_id=request_id or f"request of {content}",
        content=content,
        bytes_count=len(content.encode()),
    )


async def contents(conversation: Conversation, **page: Any) -> list[str]:
    return [message.content for message in await conversation.messages("main", "session", **page)]


async def test_commit_keeps_order(conversation: Conversation) -> None:
    await conversation.commit("run 1", [write("a"), write("b")])
    await conversation.commit("run 2", [write("c")])
    assert await contents(conversation) == ["a", "b", "c"]


async def test_commit_returns_what_is_stored(conversation: Conversation) -> None:
    returned = await conversation.commit("run 1", [write("a", request_id="r1")])
    assert list(returned) == await conversation.messages("main", "session")
    (message,) = returned
    assert (message.agent_id, message.session_id, message.request_id) == ("main", "session", "r1")
    assert (message.role, message.content, message.run_id) == ("user", "a", "run 1")
    assert message.created_at == "2026-03-01T12:00:00.000250Z"
    assert uuid.UUID(message.id).version == 7


async def test_order_ignores_the_clock(conversation: Conversation, clock: HandClock) -> None:
    await conversation.commit("run 1", [write("first")])
    clock.move(-3600)
    await conversation.commit("run 2", [write("second")])
    assert await contents(conversation) == ["first", "second"]


async def test_known_request_is_the_same_message(conversation: Conversation) -> None:
    (first,) = await conversation.commit("run 1", [write("a", request_id="r")])
    again, other = await conversation.commit("run 2", [write("b", request_id="r"), write("c")])
    assert again == first
    assert await conversation.messages("main", "session") == [first, other]


async def test_request_repeated_in_one_run(conversation: Conversation) -> None:
    first, second = await conversation.commit("run 1", [write("a", request_id="r"), write("b", request_id="r")])
    assert first == second
    assert await contents(conversation) == ["a"]


async def test_request_id_counts_within_its_conversation(conversation: Conversation) -> None:
    same = [
        write("a", request_id="r"),
        write("b", request_id="r", agent_id="other"),
        write("c", request_id="r", session_id="other"),
    ]
    returned = await conversation.commit("run 1", same)
    assert [message.content for message in returned] == ["a", "b", "c"]


async def test_replayed_commit_returns_what_is_stored(conversation: Conversation) -> None:
    writes = [write("a"), write("b")]
    first = await conversation.commit("run 1", writes)
    assert await conversation.commit("run 1", writes) == first
    assert await contents(conversation) == ["a", "b"]


async def test_replay_with_other_writes_is_a_bug(conversation: Conversation) -> None:
    await conversation.commit("run 1", [write("a")])
    with pytest.raises(InternalError, match="run 1 is committed, but without request id 'request of b'"):
        await conversation.commit("run 1", [write("b")])
    assert await contents(conversation) == ["a"]


async def test_commit_of_nothing(conversation: Conversation) -> None:
    assert await conversation.commit("run 1", []) == ()
    assert len(await conversation.commit("run 1", [write("a")])) == 1


@pytest.mark.parametrize("content", ["", "nul\0inside", "\u2028 \U0001f6a2 é", "x" * (8 * 1024 * 1024)], ids=len)
async def test_content_comes_back_unchanged(conversation: Conversation, content: str) -> None:
    await conversation.commit("run 1", [write(content, request_id="r")])
    assert await contents(conversation, max_bytes=8 * 1024 * 1024) == [content]


@pytest.mark.parametrize("bad", [{"content": "\ud800"}, {"agent_id": "\udfff"}], ids=repr)
async def test_lone_surrogate_writes_nothing(conversation: Conversation, bad: dict[str, Any]) -> None:
    fine = write("fine")
    broken = replace(write("broken"), **bad)
    with pytest.raises(InternalError, match="lone surrogate"):
        await conversation.commit("run 1", [fine, broken])
    assert await contents(conversation) == []


async def test_agents_and_sessions_are_apart(conversation: Conversation) -> None:
    await conversation.commit(
        "run 1", [write("a"), write("b", agent_id="other"), write("c", session_id="other"), write("d")]
    )
    assert await contents(conversation) == ["a", "d"]
    assert [message.content for message in await conversation.messages("other", "session")] == ["b"]
    assert await conversation.messages("other", "other") == []


@pytest.mark.parametrize(
    ("last", "newest"), [(0, []), (1, ["c"]), (2, ["b", "c"]), (3, ["a", "b", "c"]), (9, ["a", "b", "c"])]
)
async def test_last_takes_the_newest(conversation: Conversation, last: int, newest: list[str]) -> None:
    await conversation.commit("run 1", [write("a"), write("b"), write("c")])
    assert await contents(conversation, last=last) == newest


async def test_before_pages_backwards(conversation: Conversation) -> None:
    await conversation.commit("run 1", [write(str(number)) for number in range(7)])
    pages: list[list[str]] = []
    before = None
    while page := await conversation.messages("main", "session", last=3, before=before):
        pages.append([message.content for message in page])
        before = page[0].id
    assert pages == [["4", "5", "6"], ["1", "2", "3"], ["0"]]


async def test_before_must_be_of_this_conversation(conversation: Conversation) -> None:
    (other,) = await conversation.commit("run 1", [write("a", session_id="other")])
    with pytest.raises(UsageError, match=r"no message .+ of agent 'main' in session 'session'"):
        await conversation.messages("main", "session", before=other.id)


async def test_max_bytes_counts_utf8(conversation: Conversation) -> None:
    await conversation.commit("run 1", [write("x" * 50), write("é" * 50)])
    assert len(await contents(conversation, max_bytes=150)) == 2
    assert len(await contents(conversation, last=1, max_bytes=100)) == 1
    with pytest.raises(MessagesTooLargeError) as caught:
        await contents(conversation, max_bytes=149)
    assert (caught.value.bytes_count, caught.value.max_bytes) == (150, 149)


async def test_last_reply_is_the_newest_of_the_assistant(conversation: Conversation) -> None:
    assert await conversation.last_reply("main", "session") is None
    await conversation.append(agent_id="main", session_id="session", role="assistant", content="old")
    newest = await conversation.append(agent_id="main", session_id="session", role="assistant", content="new")
    await conversation.append(agent_id="main", session_id="other", role="assistant", content="other")
    await conversation.commit("run 1", [write("pushed later")])
    assert await conversation.last_reply("main", "session") == newest


async def test_append_makes_up_a_request_id(conversation: Conversation) -> None:
    one = await conversation.append(agent_id="main", session_id="session", role="user", content="hello")
    two = await conversation.append(agent_id="main", session_id="session", role="user", content="hello")
    assert one.request_id != two.request_id
    assert await conversation.messages("main", "session") == [one, two]


async def test_append_twice_is_one_message(conversation: Conversation) -> None:
    first = await conversation.append(
        agent_id="main", session_id="session", role="assistant", content="a", request_id="r", run_id="run 1"
    )
    again = await conversation.append(
        agent_id="main", session_id="session", role="assistant", content="b", request_id="r"
    )
    assert (first, first.run_id) == (again, "run 1")


async def test_known_requests_of_one_conversation(conversation: Conversation) -> None:
    await conversation.commit("run 1", [write("a", request_id="r1"), write("b", request_id="r2", agent_id="other")])
    assert await conversation.known_requests("main", "session", ["r1", "r2", "r3"]) == {"r1"}
    assert await conversation.known_requests("main", "session", []) == frozenset()


async def test_commit_cancelled_before_it_begins(conversation: Conversation) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await conversation.commit("run 1", [write("a")])
    assert scope.cancelled_caught
    assert await contents(conversation) == []
    assert len(await conversation.commit("run 1", [write("a")])) == 1


async def test_concurrent_commits_all_arrive(conversation: Conversation) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(30):
            tasks.start_soon(conversation.commit, f"run {number}", [write(f"{number}.1"), write(f"{number}.2")])
    found = await contents(conversation)
    pairs = {(first.split(".")[0], second.split(".")[0]) for first, second in zip(found[::2], found[1::2], strict=True)}
    assert pairs == {(str(number), str(number)) for number in range(30)}


async def test_concurrent_use_of_one_request_id(conversation: Conversation) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(conversation.commit, f"run {number}", [write(str(number), request_id="r")])
    assert len(await contents(conversation)) == 1


def test_memory_loads_no_database_library() -> None:
    script = """
import sys
import anyio
from keelbox.conversation import open_conversation

async def main():
    conversation = await open_conversation(None)
    await conversation.append(agent_id="main", session_id="session", role="user", content="a")

anyio.run(main)
print(sorted({"sqlalchemy", "sqlite3", "pydantic", "trio"} & sys.modules.keys()))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert child.stdout == "[]\n"


def change(version: int, data: dict[str, Any], *, ttl_s: float | None = 60) -> SessionChange:
    return SessionChange(session_id="session", version=version, data=data, ttl_s=ttl_s)


async def test_session_starts_empty(conversation: Conversation) -> None:
    assert await conversation.load_session("session") == ({}, 0)


async def test_session_is_written_with_the_messages(conversation: Conversation) -> None:
    data = {"city": "Sofia", "stops": [1, 2.5, None, {"é": True}]}
    await conversation.commit("run 1", [write("a")], session=change(0, data))
    assert await conversation.load_session("session") == (data, 1)
    assert await conversation.load_session("other") == ({}, 0)
    assert await contents(conversation) == ["a"]


async def test_loaded_session_is_a_copy(conversation: Conversation) -> None:
    await conversation.commit("run 1", [], session=change(0, {"list": [1]}))
    loaded = await conversation.load_session("session")
    loaded.data["list"].append(2)
    assert (await conversation.load_session("session")).data == {"list": [1]}


@pytest.mark.parametrize("version", [0, 2, 3])
async def test_session_conflict_writes_nothing(conversation: Conversation, version: int) -> None:
    await conversation.commit("run 1", [], session=change(0, {"by": 1}))
    with pytest.raises(SessionConflict) as caught:
        await conversation.commit("run 2", [write("a")], session=change(version, {"by": 2}))
    assert (caught.value.session_id, caught.value.version) == ("session", version)
    assert await conversation.load_session("session") == ({"by": 1}, 1)
    assert await contents(conversation) == []


async def test_commit_can_follow_its_conflict(conversation: Conversation) -> None:
    await conversation.commit("run 1", [], session=change(0, {"by": 1}))
    with pytest.raises(SessionConflict):
        await conversation.commit("run 2", [write("a")], session=change(0, {"by": 2}))
    await conversation.commit("run 2", [write("a")], session=change(1, {"by": 2}))
    assert (await conversation.load_session("session"), await contents(conversation)) == (({"by": 2}, 2), ["a"])


async def test_replay_is_no_session_conflict(conversation: Conversation) -> None:
    await conversation.commit("run 1", [], session=change(0, {"by": 1}))
    await conversation.commit("run 2", [], session=change(1, {"by": 2}))
    await conversation.commit("run 1", [], session=change(0, {"by": 1}))
    assert await conversation.load_session("session") == ({"by": 2}, 2)


async def test_session_expires_after_its_last_write(conversation: Conversation, clock: HandClock) -> None:
    await conversation.commit("run 1", [], session=change(0, {"by": 1}))
    clock.move(59)
    await conversation.commit("run 2", [], session=change(1, {"by": 2}))
    clock.move(59.999999)
    assert (await conversation.load_session("session")).data == {"by": 2}
    clock.move(0.000001)
    assert (await conversation.load_session("session")).data == {}


async def test_session_without_end(conversation: Conversation, clock: HandClock) -> None:
    await conversation.commit("run 1", [], session=change(0, {"by": 1}, ttl_s=None))
    clock.move(10**9)
    assert (await conversation.load_session("session")).data == {"by": 1}


async def test_expired_session_still_knows_conflicts(conversation: Conversation, clock: HandClock) -> None:
    """A run from before the end, and one from after it: the second to commit yields, whichever it is."""
    await conversation.commit("run 1", [], session=change(0, {"by": 1}))
    clock.move(61)
    started_after = await conversation.load_session("session")
    await conversation.commit("run 2", [], session=change(started_after.version, {"by": 2}))
    with pytest.raises(SessionConflict):
        await conversation.commit("run 3", [], session=change(1, {"by": 3}))
    assert (await conversation.load_session("session")).data == {"by": 2}
