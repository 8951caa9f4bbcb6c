"""JSON as the command line prints it: UTF-8 whatever the locale, and harmless on a terminal."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import click

__all__ = ["json_text", "print_document"]

_UNSEEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb]"
)
"""What JSON lets stand in a text and a terminal might act upon: the second control block, and format characters that
hide or reorder text."""


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Write a JSON value so that nothing in it can control a terminal; it stays the same value."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def print_document(value: Any) -> None:
    """Print one JSON value to stdout: indented for a person at a terminal, on one line for a program."""
    indent = 2 if sys.stdout.isatty() else None
    click.echo(json_text(value, indent=indent).encode("utf-8"), color=True)
