"""What a running script may read of the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keelbox.conversation import Conversation, MemoryConversation, open_conversation
from keelbox.errors import StoreError
from keelbox.ops.agent import AgentOps
from keelbox.outcome import Fate, Message
from keelbox_sandbox import codec
from keelbox_sandbox.contract import MIB, Op, OpError, Write

pytestmark = pytest.mark.anyio

ROOM_BYTES = 10 * MIB


def write(content: str, *, request_id: str = "", agent_id: str = "main", session_id: str = "caller") -> Write:
    return Write(
        agent_id=agent_id,
        session_id=session_id,
        request_id=request_id or content[:20],
        content=content,
        bytes_count=len(content.encode()),
    )


def read(
    what: str = "messages",
    *,
    agent_id: str = "main",
    session_id: str = "caller",
    last: int | None = None,
    writes: Sequence[Write] = (),
    room_bytes: int = ROOM_BYTES,
) -> Op:
    head = {"read": what, "agentId": agent_id, "sessionID": session_id, "last": last}
    return Op(number=1, kind="agent", head=head, body=b"", writes=writes, room_bytes=room_bytes)


@pytest.fixture
def conversation() -> MemoryConversation:
    return MemoryConversation()


@pytest.fixture
def ops(conversation: MemoryConversation) -> AgentOps:
    return AgentOps(conversation, agent_id="main", session_id="caller", own_session_id="tool")


async def values(ops: AgentOps, op: Op) -> Any:
    reply = await ops.perform(op)
    assert reply.head == {}
    return codec.decode(reply.body)


async def contents(ops: AgentOps, op: Op) -> list[str]:
    return [value["content"] for value in await values(ops, op)]


async def failure(ops: AgentOps, op: Op) -> OpError:
    with pytest.raises(OpError) as caught:
        await ops.perform(op)
    return caught.value


async def put_reply(conversation: Conversation, content: str) -> Message:
    return await conversation.append(agent_id="main", session_id="caller", role="assistant", content=content)


async def test_messages_have_the_guest_s_names(conversation: MemoryConversation, ops: AgentOps) -> None:
    (message,) = await conversation.commit("run", [write("a", request_id="r")])
    assert await values(ops, read()) == [
        {
            "id": message.id,
            "role": "user",
            "content": "a",
            "requestID": "r",
            "createdAt": message.created_at,
            "staged": False,
        }
    ]


async def test_empty_conversation(ops: AgentOps) -> None:
    assert await values(ops, read()) == []
    assert await values(ops, read("last-reply")) is None


async def test_last_reply(conversation: MemoryConversation, ops: AgentOps) -> None:
    reply = await put_reply(conversation, "It rains.")
    await conversation.commit("run", [write("later, but of the user")])
    value = await values(ops, read("last-reply", writes=[write("staged")]))
    assert (value["id"], value["role"], value["content"], value["staged"]) == (
        reply.id, "assistant", "It rains.", False
    )  # fmt: skip


async def test_staged_writes_come_last(conversation: MemoryConversation, ops: AgentOps) -> None:
    await conversation.commit("run", [write("stored")])
    stored, staged = await values(ops, read(writes=[write("new", request_id="r")]))
    assert stored["content"] == "stored"
    assert staged == {
        "id": None, "role": "user", "content": "new", "requestID": "r", "createdAt": None, "staged": True
    }  # fmt: skip


async def test_staged_writes_of_others_are_left_out(ops: AgentOps) -> None:
    writes = [write("a", agent_id="other"), write("b", session_id="tool"), write("c")]
    assert await contents(ops, read(writes=writes)) == ["c"]


async def test_staged_write_of_a_known_request_is_no_message(conversation: MemoryConversation, ops: AgentOps) -> None:
    """A commit would not add it either."""
    await conversation.commit("run", [write("stored", request_id="r1")])
    writes = [write("again", request_id="r1"), write("new", request_id="r2"), write("twice", request_id="r2")]
    seen = await contents(ops, read(writes=writes))
    assert seen == ["stored", "new"]
    await conversation.commit("this run", writes)
    assert await contents(ops, read()) == seen


async def test_read_sees_what_the_commit_will_leave_at_any_last(
    conversation: MemoryConversation, ops: AgentOps
) -> None:
    await conversation.commit("run", [write(name) for name in "abcd"])
    writes = [write("b"), write("e"), write("f")]
    seen = [await contents(ops, read(last=last, writes=writes)) for last in range(1, 9)]
    await conversation.commit("this run", writes)
    assert seen == [await contents(ops, read(last=last)) for last in range(1, 9)]


async def test_fifty_messages_unless_told_otherwise(conversation: MemoryConversation, ops: AgentOps) -> None:
    await conversation.commit("run", [write(f"{number}") for number in range(60)])
    assert await contents(ops, read()) == [f"{number}" for number in range(10, 60)]
    assert len(await contents(ops, read(last=1000))) == 60


@pytest.mark.parametrize(
    ("agent_id", "session_id"), [("main", "caller"), ("main", "tool"), ("inner", "tool"), ("anybody", "tool")]
)
async def test_own_caller_and_own_session_are_allowed(ops: AgentOps, agent_id: str, session_id: str) -> None:
    assert await values(ops, read(agent_id=agent_id, session_id=session_id)) == []


@pytest.mark.parametrize(
    ("agent_id", "session_id"), [("other", "caller"), ("main", "other"), ("caller", "main"), ("main", "Caller")]
)
@pytest.mark.parametrize("what", ["messages", "last-reply"])
async def test_everything_else_is_denied(
    conversation: MemoryConversation, ops: AgentOps, what: str, agent_id: str, session_id: str
) -> None:
    stranger = write("secret", agent_id=agent_id, session_id=session_id)
    await conversation.commit("run", [stranger])
    error = await failure(ops, read(what, agent_id=agent_id, session_id=session_id, writes=[stranger]))
    assert error.code == "denied"
    assert error.message == "a run reads only its own caller in the caller's session, and its own session"


INVALID_HEADS: list[tuple[Any, str]] = [
    (None, "a read must be an object"),
    ([], "a read must be an object"),
    ({}, "read must be"),
    ({"read": "everything"}, "read must be"),
    ({"read": ["messages"]}, "read must be"),
    ({"read": "messages", "agentId": "main"}, "sessionID must be a text"),
    ({"read": "messages", "sessionID": "caller"}, "agentId must be a text"),
    ({"read": "messages", "agentId": 7, "sessionID": "caller"}, "agentId must be a text"),
    ({"read": "messages", "agentId": "", "sessionID": "caller"}, "agentId must be a text"),
    ({"read": "messages", "agentId": "main", "sessionID": ""}, "sessionID must be a text"),
    ({"read": "messages", "agentId": "\ud800", "sessionID": "tool"}, "agentId must be a text"),
    ({"read": "messages", "agentId": "main", "sessionID": "caller", "sessionId": "tool"}, "no others"),
]


@pytest.mark.parametrize(("head", "told"), INVALID_HEADS, ids=lambda value: repr(value)[:60])
async def test_malformed_read(ops: AgentOps, head: Any, told: str) -> None:
    error = await failure(ops, Op(number=1, kind="agent", head=head, body=b"", writes=(), room_bytes=ROOM_BYTES))
    assert error.code == "request-invalid"
    assert told in error.message


@pytest.mark.parametrize("last", [0, -1, 1001, 2**80, True, 1.0, "5", [5], {}], ids=repr)
async def test_last_out_of_range(ops: AgentOps, last: Any) -> None:
    error = await failure(ops, read(last=last))
    assert (error.code, error.message) == ("request-invalid", "last must be a whole number from 1 to 1000")


async def test_last_may_be_left_out(ops: AgentOps) -> None:
    head = {"read": "messages", "agentId": "main", "sessionID": "caller"}
    assert await values(ops, Op(number=1, kind="agent", head=head, body=b"", writes=(), room_bytes=ROOM_BYTES)) == []


async def test_reply_of_exactly_the_room_fits(conversation: MemoryConversation, ops: AgentOps) -> None:
    await conversation.commit("run", [write("a"), write("ü\n")])
    op = read(writes=[write("staged")])
    size_bytes = len((await ops.perform(op)).body)
    same = read(writes=[write("staged")], room_bytes=size_bytes)
    assert len((await ops.perform(same)).body) == size_bytes
    error = await failure(ops, read(writes=[write("staged")], room_bytes=size_bytes - 1))
    assert error.code == "response-too-large"
    assert error.message == "the messages do not fit into the exchange buffer: ask for fewer with last"


@pytest.mark.parametrize("letter", ["x", "\0"], ids=["as much", "grows in JSON"])
async def test_too_many_messages_for_the_room(conversation: MemoryConversation, ops: AgentOps, letter: str) -> None:
    await conversation.commit("run", [write(letter * 300_000, request_id=str(number)) for number in range(4)])
    assert (await failure(ops, read(room_bytes=MIB))).code == "response-too-large"
    assert len(await contents(ops, read(last=1, room_bytes=2 * MIB))) == 1


async def test_last_reply_too_large_for_the_room(conversation: MemoryConversation, ops: AgentOps) -> None:
    await put_reply(conversation, "x" * MIB)
    error = await failure(ops, read("last-reply", room_bytes=MIB))
    assert (error.code, error.message) == (
        "response-too-large", "the last reply does not fit into the exchange buffer"
    )  # fmt: skip


async def test_each_op_has_its_record(conversation: MemoryConversation, ops: AgentOps) -> None:
    await conversation.commit("run", [write("a")])
    reply = await ops.perform(read())
    await ops.perform(read("last-reply", agent_id="inner", session_id="tool"))
    await failure(ops, read(session_id="other"))
    assert [(record.kind, record.method, record.url, record.fate, record.code) for record in ops.records] == [
        ("agent", "READ", "agent:main/messages", Fate.ANSWERED, None),
        ("agent", "READ", "agent:inner/last-reply", Fate.ANSWERED, None),
        ("agent", "READ", "agent:main/messages", Fate.REFUSED, "denied"),
    ]
    answered, _, denied = ops.records
    assert (answered.bytes_in, answered.bytes_out, answered.detail) == (len(reply.body), 0, None)
    assert denied.detail == "this run reads agent 'main' in session 'caller', and every agent in session 'tool'"
    assert not any(record.may_have_effect for record in ops.records)


async def test_record_names_no_control_characters(ops: AgentOps) -> None:
    await failure(ops, read(agent_id="Current Weather/\x1b[31m\n\ud800" + "x" * 10_000))
    (record,) = ops.records
    assert record.url.startswith("agent:Current Weather%2F%1B%5B31m%0A%3Fxxx")
    assert len(record.url) < 1000


async def test_store_failure_is_no_error_of_the_script(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("store") / "store.db"
    conversation = await open_conversation(path)
    ops = AgentOps(conversation, agent_id="main", session_id="caller", own_session_id="tool")
    path.write_bytes(b"\xff" * 100_000)
    with pytest.raises(StoreError):
        await ops.perform(read())
    await conversation.aclose()
    assert [(record.fate, record.code) for record in ops.records] == [(Fate.NOT_SENT, "host-error")]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
heads = json_values | st.fixed_dictionaries(
    {},
    optional={
        "read": st.sampled_from(["messages", "last-reply"]) | json_values,
        "agentId": st.sampled_from(["main", "other"]) | json_values,
        "sessionID": st.sampled_from(["caller", "tool", "other"]) | json_values,
        "last": st.integers(0, 1001) | json_values,
    },
)


@given(head=heads)
@settings(deadline=None)
async def test_any_head_is_answered_or_refused(head: Any) -> None:
    conversation = MemoryConversation()
    await conversation.commit("run", [write("secret", session_id="other"), write("secret", agent_id="other")])
    ops = AgentOps(conversation, agent_id="main", session_id="caller", own_session_id="tool")
    op = Op(number=1, kind="agent", head=head, body=b"", writes=(), room_bytes=ROOM_BYTES)
    try:
        assert codec.decode((await ops.perform(op)).body) in ([], None)
    except OpError as error:
        assert error.code in {"request-invalid", "denied"}
    assert len(ops.records) == 1
