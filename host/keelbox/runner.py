"""One run: a script in a sandbox, its ops carried out, its writes committed on a clean return, and the certificate.

Invariants:
    1. Every run yields one `RunOutcome`, whatever happens; a cancelled one too, by way of ``on_end``.
    2. Writes and session data are committed in one transaction, on a clean return only.
    3. What the certificate says of the world comes from the records of the ops; nobody asks the script.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anyio

from keelbox.conversation import Conversation, SessionChange, SessionConflict, SessionState, new_id
from keelbox.egress.method_rule import MethodRule
from keelbox.egress.rates import Sender
from keelbox.egress.run_egress import RunEgress
from keelbox.errors import KeelboxError
from keelbox.outcome import Certificate, Effects, Message, RunOutcome, WriteRecord
from keelbox.run_ops import RunOps
from keelbox.run_rules import effects_of, excess, left_of, on_account, session_changed
from keelbox_sandbox.contract import (
    Call,
    Event,
    FailureCode,
    Limits,
    LogLine,
    RefusedOp,
    RunResult,
    Sandbox,
    Script,
    Usage,
    Write,
)

if TYPE_CHECKING:
    from keelbox.egress.answer import Tape
    from keelbox.egress.policy import EgressPolicy
    from keelbox.egress.rates import RequestGate
    from keelbox.egress.secrets import RunSecrets

__all__ = ["Caller", "not_started", "run_script"]

_ACTION = "use tool"
"""``options.action`` where no model wrote one."""

_OP_GRACE_S = 1.0
"""The sandbox cuts a run at ``wall_s``, ops included. An op's own deadline comes later, so that the run ends as
``time-exceeded`` and not by whatever the script makes of a time-out; it bounds the op should the sandbox fail to."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who called the tool, and so whom the script answers."""

    agent_id: str
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """On what terms a run runs: the arguments of `run_script` that are not the call itself."""

    run_id: str
    caller: Caller
    own_session_id: str
    limits: Limits
    egress: RunEgress
    conversation: Conversation
    dry_run: bool
    observe: Callable[[Event], None] | None
    on_end: Callable[[RunOutcome], None] | None
    used: Usage
    tool_name: str


async def run_script(
    *,
    sandbox: Sandbox,
    script: Script,
    call_input: Any,
    caller: Caller,
    limits: Limits,
    egress: EgressPolicy,
    conversation: Conversation,
    context_text: str = "",
    ambient: Mapping[str, Any] | None = None,
    tool_name: str = "",
    fields: Mapping[str, Any] | None = None,
    methods: MethodRule | None = None,
    dry_run: bool = False,
    observe: Callable[[Event], None] | None = None,
    on_end: Callable[[RunOutcome], None] | None = None,
    run_id: str | None = None,
    own_session_id: str | None = None,
    tape: Tape | None = None,
    secrets: RunSecrets | None = None,
    gate: RequestGate | None = None,
    tenant_id: str = "",
    used: Usage | None = None,
) -> RunOutcome:
    """Run a script once and settle what it did.

    Args:
        sandbox: the wall.
        script: all of its modules.
        call_input: the first argument of ``exec``; whoever has a schema has checked it.
        caller: whom the script may read, and whose session data it gets.
        limits: what it may use; ``wall_s`` begins now, or ``used`` says how long ago.
        egress: whom its requests may reach.
        conversation: where it reads and writes.
        context_text: ``toolOptions.toolContext.options.context``.
        ambient: the second argument of ``exec``.
        tool_name: ``options.tool``; the entry's name if empty.
        fields: more ``options``, as the call had them; ``action`` is one of them.
        methods: which HTTP methods it may use, and where; None: all.
        dry_run: commit nothing; the outcome's messages are those that would have been written. Requests are sent.
        observe: told of each event as it happens.
        on_end: given the outcome, once, on every path, before this function ends.
        run_id: names the run; a new one by default.
        own_session_id: the tool's own session, ``flowContext.sessionId``; a fresh one by default.
        tape: records its HTTP exchanges, or plays recorded ones in the network's place.
        secrets: values that its requests carry; they are in nothing that it sees, and in no part of the outcome.
        gate: counts its requests, with those of the process's other runs; None: nobody counts.
        tenant_id: on whose account the gate counts them, beside the tool's.
        used: the time that compiling the script took, if this run is the one that pays for it.

    Returns:
        How it ended; what a script did wrong is never raised.

        Cancelled, the run is stopped, ``on_end`` is given an outcome with the code ``cancelled``, and the cancellation
        goes on. A commit that has begun is finished first, and then the outcome says ``committed``.
    """
    tool_name = tool_name or script.entry
    run = _Run(
        _Terms(
            run_id=run_id or new_id(),
            caller=caller,
            own_session_id=own_session_id or new_id(),
            limits=limits,
            egress=RunEgress(
                policy=egress,
                methods=methods or MethodRule(),
                tape=tape,
                secrets=secrets,
                gate=gate,
                sender=Sender(tool=tool_name, tenant=tenant_id),
            ),
            conversation=conversation,
            dry_run=dry_run,
            observe=observe,
            on_end=on_end,
            used=used or Usage(),
            tool_name=tool_name,
        )
    )
    options = {"action": _ACTION, **(fields or {}), "tool": run.terms.tool_name, "context": context_text}
    call = Call(
        input=call_input,
        ambient=ambient or {},
        tool_options={
            "toolContext": {"agentId": caller.agent_id, "options": options},
            "agentNode": {"flowContext": {"sessionId": caller.session_id}},
        },
        flow_context={"sessionId": run.terms.own_session_id},
    )
    return await run.go(sandbox, script, call)


def not_started(
    code: FailureCode,
    message: str,
    *,
    hint: str | None = None,
    location: tuple[str, int, int] | None = None,
    used: Usage | None = None,
) -> RunOutcome:
    """Make the outcome of a run that ended before its script began: nothing has happened, but time may be ``used``."""
    return RunOutcome(
        code=code,
        message=message,
        hint=hint,
        stack=None,
        location=location,
        result=None,
        messages=(),
        logs=(),
        certificate=Certificate(run_id=new_id(), effects=Effects.NONE, usage=used or Usage()),
    )


class _Run:
    def __init__(self, terms: _Terms) -> None:
        self.terms = terms
        self.begun_s = anyio.current_time()
        self.ops = RunOps(
            egress=terms.egress,
            conversation=terms.conversation,
            agent_id=terms.caller.agent_id,
            session_id=terms.caller.session_id,
            own_session_id=terms.own_session_id,
            deadline_s=self.begun_s + left_of(terms.limits, terms.used).wall_s + _OP_GRACE_S,
        )
        self.logs: list[LogLine] = []
        self.writes: list[Write] = []
        self.fault: Exception | None = None
        """What failed outside the sandbox and its ops."""

    async def go(self, sandbox: Sandbox, script: Script, call: Call) -> RunOutcome:
        terms = self.terms
        try:
            state = await terms.conversation.load_session(terms.caller.session_id)
            call = replace(call, session=state.data)
            left = left_of(terms.limits, terms.used)
            result = await sandbox.run(script, call, left, self.ops.perform, self.observe)
        except anyio.get_cancelled_exc_class():
            self.end(self.cut(FailureCode.CANCELLED, "the run was cancelled before it ended"))
            raise
        except Exception as error:
            self.fault = error
            return self.end(self.cut(FailureCode.HOST_ERROR, ""))
        if lie := excess(result, terms.limits):
            message = f"the sandbox reported more than its limits allow: {lie}"
            kept = result.writes[: terms.limits.writes_count]
            result = replace(result, code=FailureCode.SANDBOX_CRASHED, message=message, hint=None, writes=kept, logs=())
        if result.code is not None:
            return self.end(result)
        if terms.egress.tape is not None and (unplayed := terms.egress.tape.left_over()):
            self.fault = unplayed
            return self.end(replace(result, code=FailureCode.HOST_ERROR, message=None, hint=None))
        if terms.dry_run:
            return self.end(result, messages=tuple(map(self.would_be, result.writes)))
        return await self.commit(result, self.session_change(state, result.session))

    def observe(self, event: Event) -> None:
        if isinstance(event, LogLine):
            (event,) = self.scrub_lines((event,))
        if isinstance(event, RefusedOp):
            self.ops.refused(event)
        elif isinstance(event, LogLine) and len(self.logs) <= self.terms.limits.log_lines_count:
            self.logs.append(event)
        elif isinstance(event, Write) and len(self.writes) < self.terms.limits.writes_count:
            self.writes.append(event)
        if self.terms.observe is not None:
            self.terms.observe(event)

    def session_change(self, state: SessionState, data: Mapping[str, Any] | None) -> SessionChange | None:
        if data is None or not session_changed(state.data, data):
            return None
        return SessionChange(
            session_id=self.terms.caller.session_id,
            version=state.version,
            data=data,
            ttl_s=self.terms.limits.session_ttl_s,
        )

    async def commit(self, result: RunResult, change: SessionChange | None) -> RunOutcome:
        """Write what a clean run asked for, all of it or nothing."""
        terms = self.terms
        broken_in: BaseException | None = None
        messages: tuple[Message, ...] = ()
        try:
            with anyio.CancelScope(shield=True):
                try:
                    messages = await terms.conversation.commit(terms.run_id, result.writes, session=change)
                except anyio.get_cancelled_exc_class() as error:
                    # A bare task cancellation breaks through the shield, and says nothing of what became of the
                    # commit. Asking again under the same run id does.
                    broken_in = error
                    messages = await terms.conversation.commit(terms.run_id, result.writes, session=change)
        except SessionConflict:
            failed = replace(
                result,
                code=FailureCode.SESSION_CONFLICT,
                message="another run changed this session while this one ran; nothing was written",
                hint="run it again: it will see what the other one wrote",
            )
            outcome = self.end(failed)
        except Exception as error:
            self.fault = error
            outcome = self.end(replace(result, code=FailureCode.HOST_ERROR, message=None, hint=None))
        else:
            outcome = self.end(result, messages=messages, committed=True)
        if broken_in is not None:
            raise broken_in
        return outcome

    def cut(self, code: FailureCode, message: str) -> RunResult:
        """Make the result of a run of which the sandbox gave none, from what was seen of it."""
        records = self.ops.records()
        usage = Usage(
            wall_s=anyio.current_time() - self.begun_s,
            requests_count=self.ops.performed_count,
            bytes_in=sum(op.bytes_in for op in records),
            bytes_out=sum(op.bytes_out for op in records),
        )
        return RunResult(code=code, message=message, writes=tuple(self.writes), logs=tuple(self.logs), usage=usage)

    def end(self, result: RunResult, *, messages: tuple[Message, ...] = (), committed: bool = False) -> RunOutcome:
        """Draw up the outcome and hand it over."""
        result = on_account(result, self.terms.limits, self.terms.used)
        message, hint = result.message, result.hint
        if result.code is FailureCode.HOST_ERROR and (fault := self.fault or self.ops.fault):
            message, hint = self.explain(fault)
        records = self.ops.records()
        outcome = RunOutcome(
            code=result.code,
            message=None if message is None else self.scrub(message),
            hint=None if hint is None else self.scrub(hint),
            stack=None if result.stack is None else self.scrub(result.stack),
            location=result.location,
            result=result.value if result.code is None else None,
            messages=tuple({message.id: message for message in messages}.values()) if committed else messages,
            logs=self.scrub_lines(result.logs),
            certificate=Certificate(
                run_id=self.terms.run_id,
                effects=effects_of(records, committed=committed),
                ops=records,
                writes=self.write_records(result.writes, messages if committed else ()),
                usage=result.usage,
                walls=result.walls,
                logs_count=Counter(line.level for line in result.logs),
            ),
        )
        if self.terms.on_end is not None:
            self.terms.on_end(outcome)
        return outcome

    def write_records(self, writes: Sequence[Write], stored: Sequence[Message]) -> tuple[WriteRecord, ...]:
        """Say of each write whether it is in the conversation: one with the request id of an earlier message is not."""
        if not stored:
            return tuple(_write_record(write, committed=False) for write in writes)
        run_id = self.terms.run_id
        return tuple(
            _write_record(write, committed=message.run_id == run_id and message.content == write.content)
            for write, message in zip(writes, stored, strict=True)
        )

    def explain(self, fault: Exception) -> tuple[str, str | None]:
        if isinstance(fault, KeelboxError):
            return fault.message, fault.hint
        if self.terms.egress.secrets is None:
            _LOG.error("run %s ended by a fault of the host", self.terms.run_id, exc_info=fault)
        else:
            trace = self.scrub("".join(traceback.format_exception(fault)))
            _LOG.error("run %s ended by a fault of the host\n%s", self.terms.run_id, trace)
        return f"Keelbox itself failed: {type(fault).__name__}", "the script is not to blame; the log has the traceback"

    def scrub(self, text: str) -> str:
        """Take the values of secrets out of a text. The guest has none; this is for the day when that is not so."""
        return text if self.terms.egress.secrets is None else self.terms.egress.secrets.scrubber.text(text)

    def scrub_lines(self, lines: tuple[LogLine, ...]) -> tuple[LogLine, ...]:
        """The same for lines of the script's log."""
        if self.terms.egress.secrets is None:
            return lines
        return tuple(replace(line, text=self.scrub(line.text)) for line in lines)

    def would_be(self, write: Write) -> Message:
        """Show a write as the message that a commit would have made; it has no id and no time."""
        return Message(
            id="",
            agent_id=write.agent_id,
            session_id=write.session_id,
            request_id=write.request_id,
            role="user",
            content=write.content,
            created_at="",
            run_id=self.terms.run_id,
        )


def _write_record(write: Write, *, committed: bool) -> WriteRecord:
    return WriteRecord(
        agent_id=write.agent_id,
        session_id=write.session_id,
        request_id=write.request_id,
        bytes_count=write.bytes_count,
        committed=committed,
    )
