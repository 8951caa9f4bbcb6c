"""Carries out one ``keelbox run``: sets everything up, runs, prints, and takes everything down."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from keelbox.cli.exits import exit_of
from keelbox.cli.interrupt import run_interruptible
from keelbox.cli.sandbox import open_sandbox
from keelbox.cli.sources import Sources
from keelbox.cli.tape import close_tape, say_note
from keelbox.cli.target import Target
from keelbox.cli.text import Screen
from keelbox.conversation import Conversation, new_id, open_conversation
from keelbox.egress.method_rule import declared_methods
from keelbox.egress.policy import EgressPolicy
from keelbox.egress.rates import RequestGate
from keelbox.outcome import RunOutcome
from keelbox.runner import Caller, not_started, run_script
from keelbox_sandbox.contract import Event, FailureCode, Limits, ScriptError, Usage

if TYPE_CHECKING:
    from keelbox.egress.answer import Tape
    from keelbox.egress.secrets import RunSecrets

__all__ = ["RunPlan", "run_once"]

_TENANT_ID = "local"
"""On whose account the requests of a command are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One run as the command line asks for it."""

    target: Target
    call_input: Any
    context_text: str
    ambient: Mapping[str, Any]
    agent_id: str
    session_id: str | None
    """None: a fresh one."""
    limits: Limits
    egress: EgressPolicy
    store: Path | None
    dry_run: bool
    tape: Tape | None = None
    """Records its exchanges, or plays recorded ones."""
    secrets: RunSecrets | None = None


@dataclass(slots=True, kw_only=True)
class _Progress:
    """What is known so far, also if the run is interrupted."""

    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    outcome: RunOutcome | None = None
    begun: bool = False
    """Whether the script was started."""

    def end(self, outcome: RunOutcome) -> None:
        self.outcome = outcome


def run_once(plan: RunPlan, *, as_json: bool) -> int:
    """Run it, print it, and get the exit code.

    Raises:
        StoreError: the conversation store cannot be opened.
    """
    screen = Screen()
    if plan.target.note:
        say_note(screen, plan.target.note)
    if plan.tape is not None and plan.tape.replays:
        say_note(screen, f"replaying {plan.tape.file}: no request is sent, the certificate tells what would have been")
    progress = _Progress()
    observe = None if as_json else _shower(screen)
    run_interruptible(lambda: _run(plan, progress, observe))
    outcome = progress.outcome or not_started(FailureCode.CANCELLED, "interrupted before the script was started")
    # Before anything is printed, which may fail. A script that never began leaves an older recording as it is.
    note, fault = close_tape(plan.tape) if plan.tape is not None and progress.begun else (None, None)
    if as_json:
        from keelbox.cli.as_json import run_document
        from keelbox.cli.json_text import print_document

        print_document(run_document(outcome, dry_run=plan.dry_run))
    else:
        from keelbox.cli.render import show_outcome

        show_outcome(
            screen,
            outcome,
            limits=plan.limits,
            sources=progress.sources,
            dry_run=plan.dry_run,
            replayed=plan.tape is not None and plan.tape.replays,
        )
    if note is not None:
        say_note(screen, note)
    code = exit_of(outcome)
    if fault is not None:
        from keelbox.cli.failure import report

        reported = report(fault, as_json=False)
        return code or reported
    return code


def _shower(screen: Screen) -> Callable[[Event], None]:
    from keelbox.cli.render import show_event

    return lambda event: show_event(screen, event)


async def _run(plan: RunPlan, progress: _Progress, observe: Callable[[Event], None] | None) -> None:
    sources = Sources(plan.target.folder, plan.limits)
    progress.sources = sources.texts
    async with open_sandbox() as sandbox, _open_conversation(plan.store) as conversation:
        begun_s = anyio.current_time()
        try:
            script = await sandbox.gather(plan.target.entry, sources.read, plan.limits)
        except ScriptError as error:
            used = Usage(cpu_s=error.cpu_s, wall_s=anyio.current_time() - begun_s)
            place = sources.place(error)
            progress.end(not_started(error.code, error.message, hint=error.hint, location=place, used=used))
            return
        used = Usage(cpu_s=script.compile_cpu_s, wall_s=anyio.current_time() - begun_s)
        progress.begun = True
        await run_script(
            sandbox=sandbox,
            script=script,
            call_input=plan.call_input,
            caller=Caller(agent_id=plan.agent_id, session_id=plan.session_id or new_id()),
            limits=plan.limits,
            egress=plan.egress,
            conversation=conversation,
            context_text=plan.context_text,
            ambient=plan.ambient,
            tool_name=plan.target.name,
            methods=declared_methods(plan.target.declaration),
            dry_run=plan.dry_run,
            observe=observe,
            on_end=progress.end,
            tape=plan.tape,
            secrets=plan.secrets,
            gate=RequestGate(plan.target.limits.egress),
            tenant_id=_TENANT_ID,
            used=used,
        )


@asynccontextmanager
async def _open_conversation(store: Path | None) -> AsyncGenerator[Conversation, None]:
    conversation = await open_conversation(store)
    try:
        yield conversation
    finally:
        with anyio.CancelScope(shield=True):
            await conversation.aclose()
