"""What a person reads of a run: hostile texts in every place where a script can put one."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.host.cli.conftest import Keelbox

from keelbox.cli.render import show_failure, show_outcome
from keelbox.cli.text import Screen
from keelbox.outcome import Certificate, Effects, Fate, Message, OpRecord, RunOutcome, WriteRecord
from keelbox_sandbox.contract import FailureCode, Limits

Write = Callable[..., Path]

EVIL = "\x1b[2J\x9b1A\r\ncertificate committed\n\u202eevil"


def outcome(
    code: FailureCode | None = None, text: str = EVIL, location: tuple[str, int, int] | None = None
) -> RunOutcome:
    op = OpRecord(kind="http", method=text, url=text, fate=Fate.REFUSED, code=text, detail=text)
    write = WriteRecord(agent_id=text, session_id=text, request_id=text, bytes_count=3, committed=code is None)
    message = Message(
        id="m", agent_id=text, session_id=text, request_id=text, role="user", content=text, created_at="", run_id="r"
    )
    return RunOutcome(
        code=code,
        message=text,
        hint=text,
        stack=text,
        location=location,
        result={text: text},
        messages=(message,),
        logs=(),
        certificate=Certificate(run_id="r", effects=Effects.NONE, ops=(op,), writes=(write,)),
    )


@pytest.mark.parametrize("code", [None, FailureCode.THREW])
@pytest.mark.parametrize("dry_run", [False, True])
def test_no_text_of_a_script_escapes(
    capsys: pytest.CaptureFixture[str], code: FailureCode | None, dry_run: bool
) -> None:
    show_outcome(Screen(), outcome(code, location=(EVIL, 1, 1)), limits=Limits(), sources={EVIL: EVIL}, dry_run=dry_run)
    out, err = capsys.readouterr()
    for text in (out, err):
        assert not any(char in text for char in "\x1b\x9b\r\u202e")
    assert [line for line in err.splitlines() if line.startswith("certificate")] == [
        line for line in err.splitlines() if line.startswith("certificate none: ")
    ]


def test_log_lines_cannot_pass_for_ours(keelbox: Keelbox, script: Write) -> None:
    done = keelbox("run", script("Log.error('x\\ncertificate committed'); Log.info('\\u001b[2J'); return 1;"))
    assert "error\n  │ x\n  │ certificate committed\n" in done.err
    assert "info      \\u{1b}[2J\n" in done.err


def test_long_message_is_cut_and_its_size_told(keelbox: Keelbox, script: Write) -> None:
    done = keelbox("run", script("answer('line\\n'.repeat(10000)); return 1;"))
    assert done.err.count("│ line\n") == 60
    assert "… more; --json has all of it" in done.err
    assert "1 committed, 48.8 KiB" in done.err


@pytest.mark.parametrize(
    ("source", "column", "shown", "caret_at"),
    [
        ("let = 1;", 5, "let = 1;", "= 1"),
        ("\tlet = 1;", 6, "    let = 1;", "= 1"),
        ("'漢字' = 1;", 6, "'漢字' = 1;", None),
        ("x" * 300 + " = 1;", 302, None, "= 1"),
    ],
)
def test_caret_is_under_the_place(
    capsys: pytest.CaptureFixture[str], source: str, column: int, shown: str | None, caret_at: str | None
) -> None:
    show_failure(Screen(), outcome(FailureCode.THREW, "m", ("a.js", 2, column)), {"a.js": f"\n{source}\n"})
    lines = capsys.readouterr().err.splitlines()
    (at,) = [number for number, line in enumerate(lines) if line.startswith("  2 | ")]
    if shown is not None:
        assert lines[at] == f"  2 | {shown}"
    if caret_at is not None:
        assert lines[at + 1].index("^") == lines[at].index(caret_at)
    else:  # two wide characters take four columns
        assert lines[at + 1].index("^") == lines[at].index("=") + 2


@pytest.mark.parametrize("location", [("gone.js", 1, 1), ("a.js", 99, 1), ("a.js", 0, 0), ("a.js", 1, 500)])
def test_place_that_is_nowhere_is_only_named(
    capsys: pytest.CaptureFixture[str], location: tuple[str, int, int]
) -> None:
    show_failure(Screen(), outcome(FailureCode.THREW, "m", location), {"a.js": "x\n"})
    assert f"  --> {location[0]}:{location[1]}:{location[2]}" in capsys.readouterr().err


def test_terminal_gets_colours_and_wrapped_lines(script: Write) -> None:
    """On a real terminal of 60 columns."""
    path = script("Log.warning('w'); answer('word '.repeat(40)); return 1;")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    environment |= {"COLUMNS": "60", "TERM": "xterm"}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "keelbox", "run", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        with os.fdopen(ours, "rb", buffering=0) as screen:
            try:
                while data := screen.read(4096):
                    shown += data
            except OSError:  # how Linux says that the other side is closed
                pass
    assert process.returncode == 0
    assert b"\x1b[33mwarning" in shown
    assert shown.count("│ \x1b[0mword".encode()) == 4
