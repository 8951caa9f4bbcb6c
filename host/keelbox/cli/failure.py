"""What the command line says where there is no run to report on: misuse, bad files, a broken store, our own bugs."""

from __future__ import annotations

import traceback
from typing import Any

import click

from keelbox.cli.exits import Exit
from keelbox.cli.json_text import print_document
from keelbox.cli.text import Screen, printable
from keelbox.errors import ConfigError, InputError, KeelboxError, UsageError

__all__ = ["report"]


def report(error: Exception, *, as_json: bool) -> int:
    """Tell the user of an error and get the exit code.

    Args:
        error: whatever ended the command.
        as_json: print one JSON document to stdout; else text for a person to stderr.
    """
    if isinstance(error, click.Abort):
        document = _document("cancelled", "interrupted", None)
        code = Exit.INTERRUPTED
    elif isinstance(error, click.ClickException):
        document = _document("usage", error.format_message(), _help_hint(error))
        code = Exit.MISUSE
    elif isinstance(error, KeelboxError):
        document = _document(_code(error), error.message, error.hint) | _details(error)
        code = Exit(error.exit_code)
    else:
        traceback.print_exception(error)
        message = f"Keelbox itself failed: {type(error).__name__}"
        document = _document("host-error", message, "this is a bug; please report it with the traceback on stderr")
        code = Exit.FAILED
    if as_json:
        print_document(document)
    elif isinstance(error, click.UsageError):
        error.show()
    else:
        _show(document)
    return code


def _show(document: dict[str, Any]) -> None:
    screen = Screen()
    first, *rest = printable(document["message"], keep_lines=True).split("\n")
    screen.say(f"{screen.style('error:', 'red', bold=True)} {first}")
    for line in rest:
        screen.say(f"  {line}")
    if document["hint"]:
        screen.say(f"{screen.style('hint:', 'cyan')} {printable(document['hint'])}")


def _document(code: str, message: str, hint: str | None) -> dict[str, Any]:
    return {"status": "failed", "code": code, "message": message, "hint": hint}


def _code(error: KeelboxError) -> str:
    if isinstance(error, InputError):
        return "input-invalid"
    if isinstance(error, ConfigError):
        return "config"
    return "usage" if isinstance(error, UsageError) else "host-error"


def _details(error: KeelboxError) -> dict[str, Any]:
    if isinstance(error, InputError):
        return {"fields": [{"path": each.path, "rule": each.rule, "expected": each.expected} for each in error.fields]}
    if isinstance(error, ConfigError):
        return {
            "faults": [
                {
                    "file": each.file,
                    "line": each.line,
                    "column": each.column,
                    "path": each.path,
                    "message": each.message,
                }
                for each in error.faults
            ]
        }
    return {}


def _help_hint(error: click.ClickException) -> str | None:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return None if context is None else f"see {context.command_path} --help"
