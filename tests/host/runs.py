"""One run from the host's side: the shortest way to say a test of the runner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event as ThreadEvent
from typing import Any

from anyio.to_thread import run_sync
from tests.servers.fault_server import Peer, response

from keelbox.conversation import Conversation, MemoryConversation
from keelbox.egress.method_rule import MethodRule
from keelbox.egress.policy import EgressPolicy
from keelbox.outcome import Message, RunOutcome
from keelbox.runner import Caller, run_script
from keelbox_sandbox.contract import Event, Limits, Sandbox, Script, Usage

__all__ = ["CALLER", "PUSH", "Gate", "contents", "run"]

CALLER = Caller(agent_id="main", session_id="caller-session")

PUSH = """
import Agent from 'system/agent';
import Http from 'system/http';
import Tools from 'system/tools';
const push = (prompt, requestID = Tools.generateUUID()) => Agent.setRootAgentPrompt(toolOptions.toolContext.agentId, {
    prompt, sessionID: toolOptions.agentNode.flowContext.sessionId, requestID,
});
"""
"""Head of a script that answers its caller."""


async def run(
    sandbox: Sandbox,
    body: str,
    *,
    conversation: Conversation | None = None,
    call_input: Any = None,
    ambient: Mapping[str, Any] | None = None,
    context_text: str = "",
    fields: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    caller: Caller = CALLER,
    methods: MethodRule | None = None,
    dry_run: bool = False,
    observe: Callable[[Event], None] | None = None,
    on_end: Callable[[RunOutcome], None] | None = None,
    run_id: str | None = None,
    used: Usage | None = None,
) -> RunOutcome:
    """Run ``exec`` with this body, loopback allowed."""
    source = f"{PUSH}\nexport const exec = async (input, ambient, ctx) => {{ {body} }};"
    return await run_script(
        sandbox=sandbox,
        script=Script(entry="tool.js", modules={"tool.js": source}),
        call_input=call_input,
        caller=caller,
        limits=limits or Limits(),
        egress=EgressPolicy(allow_loopback=True),
        conversation=conversation or MemoryConversation(),
        context_text=context_text,
        ambient=ambient,
        fields=fields,
        methods=methods,
        dry_run=dry_run,
        observe=observe,
        on_end=on_end,
        run_id=run_id,
        used=used,
    )


async def contents(conversation: Conversation) -> list[str]:
    """The texts in the caller's conversation."""
    messages: list[Message] = await conversation.messages(CALLER.agent_id, CALLER.session_id)
    return [message.content for message in messages]


class Gate:
    """A server behaviour that holds its answer back until the test opens the gate."""

    def __init__(self) -> None:
        self._arrived = ThreadEvent()
        self._opened = ThreadEvent()

    def __call__(self, peer: Peer) -> None:
        peer.read_request()
        self._arrived.set()
        self._opened.wait()
        peer.send(response())

    async def arrived(self) -> None:
        """Wait until a request is there."""
        await run_sync(self._arrived.wait)

    def open(self) -> None:
        """Let the answers go."""
        self._opened.set()
