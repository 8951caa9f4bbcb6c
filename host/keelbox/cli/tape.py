"""``--record`` and ``--replay``: opens the cassette before a run, and closes it after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from keelbox.cli.text import Screen, printable
from keelbox.errors import KeelboxError, UsageError

if TYPE_CHECKING:
    from keelbox.egress.answer import Tape

__all__ = ["close_tape", "open_tape", "say_note"]


def open_tape(*, record: Path | None, replay: Path | None) -> Tape | None:
    """Open what stands between the rules and the network of a run; None: nothing. Blocks.

    Raises:
        UsageError: both are asked for, or the recording can have no file.
        ConfigError: the cassette to play has faults.
    """
    if record is not None and replay is not None:
        raise UsageError("--record and --replay exclude each other", hint="record with a network, replay without one")
    if record is not None:
        from keelbox.egress.recorder import Recorder

        return Recorder(record)
    if replay is not None:
        from keelbox.egress.cassette_file import read_cassette
        from keelbox.egress.player import Player

        return Player(read_cassette(replay))
    return None


def close_tape(tape: Tape) -> tuple[str | None, KeelboxError | None]:
    """Write down what was recorded. Blocks.

    Returns:
        What to tell the user, and why it could not be written.
    """
    try:
        return tape.close(), None
    except KeelboxError as error:
        return None, error


def say_note(screen: Screen, text: str) -> None:
    """Tell a person something of the run that is not part of its outcome."""
    screen.say(f"{screen.style('note:', dim=True)} {printable(text)}")
