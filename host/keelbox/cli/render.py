"""A run as a person reads it: log lines as they come; then result, messages, certificate, and the error in its line."""

from __future__ import annotations

from collections.abc import Mapping

import click

from keelbox.cli.json_text import json_text
from keelbox.cli.text import Screen, bytes_text, cells_count, clip, ms_text, printable
from keelbox.outcome import Certificate, Effects, Fate, Message, OpRecord, RunOutcome
from keelbox_sandbox.contract import Event, Limits, LogLine, Progress

__all__ = ["show_event", "show_failure", "show_outcome"]

_MESSAGE_LINES_COUNT = 60
_LOG_LINES_COUNT = 20
_ID_CELLS = 60

_LEVEL_COLOURS = {"error": "red", "warning": "yellow", "info": "blue", "debug": None}

_EFFECTS = {
    Effects.COMMITTED: ("green", "it returned cleanly, and what it wrote is in the conversation"),
    Effects.NONE: ("green", "nothing that could have an effect left this host; its writes were discarded"),
    Effects.SENT: ("yellow", "requests that may have had an effect were answered; its writes were discarded"),
    Effects.UNKNOWN: ("red", "a request that may have had an effect was in flight; look there before you try again"),
}


def show_event(screen: Screen, event: Event) -> None:
    """Print a log line or a progress report as it comes."""
    if isinstance(event, LogLine):
        level = screen.style(f"{event.level:<9}", _LEVEL_COLOURS[event.level])
        _labelled(screen, level, event.text)
    elif isinstance(event, Progress):
        _labelled(screen, screen.style(f"{'progress':<9}", dim=True), json_text(event.data))


def _labelled(screen: Screen, label: str, text: str) -> None:
    single = printable(text, keep_lines=True)
    if "\n" not in single and (screen.width is None or cells_count(single) + 10 <= screen.width):
        screen.say(f"{label} {single}")
    else:
        screen.say(label.rstrip())
        screen.quote(text, lines_max=_LOG_LINES_COUNT)


def show_outcome(
    screen: Screen,
    outcome: RunOutcome,
    *,
    limits: Limits,
    sources: Mapping[str, str],
    dry_run: bool,
    replayed: bool = False,
) -> None:
    """Print everything of a run but its log lines. The result alone goes to stdout.

    Args:
        screen: where to.
        outcome: how the run ended.
        limits: what it could have used.
        sources: its modules by name, for quoting the line of an error.
        dry_run: whether nothing was to be committed.
        replayed: whether its requests were answered from a cassette, so that none was sent.
    """
    if outcome.code is None:
        click.echo(json_text(outcome.result, indent=2).encode("utf-8"), color=True)
    for message in outcome.messages:
        _show_message(screen, message, dry_run=dry_run)
    _show_certificate(screen, outcome.certificate, limits, dry_run=dry_run, replayed=replayed)
    if outcome.code is not None:
        show_failure(screen, outcome, sources)


def _show_message(screen: Screen, message: Message, *, dry_run: bool) -> None:
    screen.say()
    agent, session, request = (
        clip(printable(text), _ID_CELLS) for text in (message.agent_id, message.session_id, message.request_id)
    )
    if dry_run:
        screen.say(screen.style(f"--- conversation of {agent}, session {session}", dim=True))
        screen.say(screen.style(f"+++ with request {request}", dim=True))
        screen.quote(message.content, gutter="+ ", colour="green", lines_max=_MESSAGE_LINES_COUNT)
    else:
        screen.say(f"{screen.style('message', bold=True)} to {agent}, session {session}")
        screen.quote(message.content, lines_max=_MESSAGE_LINES_COUNT)


def _show_certificate(
    screen: Screen, certificate: Certificate, limits: Limits, *, dry_run: bool, replayed: bool
) -> None:
    colour, meaning = _EFFECTS[certificate.effects]
    if dry_run:
        sent = not replayed and any(op.fate in (Fate.ANSWERED, Fate.IN_FLIGHT) for op in certificate.ops)
        meaning = "dry run, nothing was committed" + (", but requests were sent" if sent else "")
    elif replayed and certificate.effects in (Effects.SENT, Effects.UNKNOWN):
        meaning = "so it would be with a network; this was a replay, and nothing was sent"
    effects = screen.style(certificate.effects, colour, bold=True)
    screen.say()
    screen.say(f"{screen.style('certificate', bold=True)} {effects}: {meaning}")
    rows = [_op_row(number, op) for number, op in enumerate(certificate.ops, 1)]
    screen.table(rows, right=(0, 3, 5, 6, 7), flexible=2)
    for number, op in enumerate(certificate.ops, 1):
        if op.detail:
            screen.say(screen.style(f"  {number}: {printable(op.detail)}", dim=True))
    facts = [("writes", _writes_text(certificate)), ("used", _usage_text(certificate, limits))]
    if certificate.walls:
        facts.append(("walls", ", ".join(certificate.walls)))
    facts.append(("run", certificate.run_id))
    for name, text in facts:
        screen.say(f"  {name:<7} {text}")


def _op_row(number: int, op: OpRecord) -> list[str]:
    fate = f"{op.fate} ({op.code})" if op.code else str(op.fate)
    return [
        str(number),
        printable(op.method),
        printable(op.url),
        "" if op.status is None else str(op.status),
        printable(fate),
        f"{bytes_text(op.bytes_out)} out",
        f"{bytes_text(op.bytes_in)} in",
        ms_text(op.ms),
    ]


def _writes_text(certificate: Certificate) -> str:
    writes = certificate.writes
    if not writes:
        return "none"
    fate = "committed" if all(write.committed for write in writes) else "not committed"
    return f"{len(writes)} {fate}, {bytes_text(sum(write.bytes_count for write in writes))}"


def _usage_text(certificate: Certificate, limits: Limits) -> str:
    usage = certificate.usage
    parts = [f"wall {ms_text(usage.wall_s * 1000)} of {limits.wall_s:g} s"]
    if certificate.walls or usage.cpu_s:
        parts.append(f"cpu {ms_text(usage.cpu_s * 1000)} of {limits.cpu_s:g} s")
    if certificate.walls:  # a run that was cancelled has no sandbox left to tell of the rest
        parts += [
            f"heap {bytes_text(usage.peak_heap_bytes)} of {limits.heap_mib:g} MiB",
            f"buffer {bytes_text(usage.buffer_peak_bytes)} of {limits.buffer_mib:g} MiB",
        ]
    return " · ".join([*parts, f"requests {usage.requests_count} of {limits.requests_count}"])


def show_failure(screen: Screen, outcome: RunOutcome, sources: Mapping[str, str]) -> None:
    """Print why a run failed, with the line of the script where it was."""
    screen.say()
    screen.say(f"{screen.style('error:', 'red', bold=True)} {outcome.code}")
    if outcome.message:
        screen.quote(outcome.message, lines_max=_LOG_LINES_COUNT)
    if outcome.location is not None:
        _quote_source(screen, outcome.location, sources)
    stack = (outcome.stack or "").rstrip("\n")
    if "\n" in stack or (stack and outcome.location is None):  # a single line says the place once more
        screen.quote(stack, lines_max=_LOG_LINES_COUNT)
    if outcome.hint:
        screen.say(f"{screen.style('hint:', 'cyan')} {printable(outcome.hint)}")


def _quote_source(screen: Screen, location: tuple[str, int, int], sources: Mapping[str, str]) -> None:
    file, line, column = location
    screen.say(f"  --> {printable(file)}:{line}:{column}")
    lines = sources.get(file, "").split("\n")
    if not 1 <= line <= len(lines):
        return
    source = lines[line - 1].rstrip("\r")
    before = cells_count(printable(source[: column - 1]))
    margin = " " * len(str(line))
    room = max((screen.width or 120) - len(margin) - 5, 20)
    text = printable(source)
    if before >= room:  # a long line: show the part around the place
        start = max(column - 1 - room // 2, 0)
        before = cells_count(printable(source[start : column - 1])) + 1
        text = f"…{printable(source[start:])}"
    bar = screen.style("|", dim=True)
    screen.say(f"  {margin} {bar}")
    screen.say(f"  {screen.style(str(line), dim=True)} {bar} {clip(text, room)}")
    screen.say(f"  {margin} {bar} {' ' * before}{screen.style('^', 'red', bold=True)}")
