"""Text for a person at a terminal: colours only where wanted, and untrusted text that stays inside its lines."""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence

import click

__all__ = ["GUTTER", "Screen", "bytes_text", "cells_count", "clip", "lines_of", "ms_text", "printable"]

GUTTER = "│ "
"""Stands before each line of text that a script wrote, so that no such line can pass for one of ours."""

_LINE_ENDS = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_JOINERS = "\u200c\u200d"
"""Zero-width joiners: several scripts and emoji cannot do without them, and they move nothing."""

_TAB = "    "
_PAGE_CELLS = 120
"""Width of a table where there is no terminal."""

_QUOTED_LINE_CHARS_COUNT = 500
"""Characters of a quoted text for each line that may be shown: a text of 8 MiB is not looked at as a whole."""

_KIB = 1024
_MS_PER_S = 1000


def printable(text: str, *, keep_lines: bool = False) -> str:
    """Make untrusted text harmless: what a terminal could act upon becomes a visible ``\\u{1b}``.

    Args:
        text: the text.
        keep_lines: leave line ends as ``\\n``; otherwise they are made visible too.
    """
    if text.isprintable():
        return text
    if keep_lines:
        return "\n".join(map(printable, _LINE_ENDS.split(text)))
    return "".join(_TAB if char == "\t" else char if _is_harmless(char) else f"\\u{{{ord(char):x}}}" for char in text)


def _is_harmless(char: str) -> bool:
    return char.isprintable() or char in _JOINERS or unicodedata.category(char) == "Zs"


def cells_count(text: str) -> int:
    """Count the columns that a printable text takes on a terminal."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.combining(char) or char in _JOINERS or unicodedata.category(char) == "Mn":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _fitting(text: str, start: int, cells: int) -> int:
    """Get the end of what fits into so many columns from ``start`` on: one character at least."""
    used = 0
    for index in range(start, len(text)):
        used += _cells(text[index])
        if used > cells:
            return max(index, start + 1)
    return len(text)


def clip(text: str, cells: int) -> str:
    """Cut a printable text to so many columns, with an ellipsis where something is missing."""
    return text if cells_count(text) <= cells else text[: _fitting(text, 0, cells - 1)] + "…"


def lines_of(text: str, cells: int | None) -> Iterator[str]:
    """Split untrusted text into harmless lines, none wider than so many columns (None: as wide as they are)."""
    for line in printable(text, keep_lines=True).split("\n"):
        if cells is None or len(line) * 2 <= cells:
            yield line
            continue
        start = 0
        while start == 0 or start < len(line):
            end = _fitting(line, start, cells)
            if end < len(line):
                space = line.rfind(" ", start + (end - start) // 2, end)
                end = end if space < 0 else space + 1
            yield line[start:end]
            start = end


def bytes_text(count: int) -> str:
    """Write a number of bytes for a person: ``312 B``, ``1.2 KiB``, ``3.0 MiB``."""
    if count < _KIB:
        return f"{count} B"
    if count < _KIB * _KIB:
        return f"{count / _KIB:.1f} KiB"
    return f"{count / _KIB / _KIB:.1f} MiB"


def ms_text(ms: float) -> str:
    """Write a duration for a person: ``0.4 ms``, ``12 ms``, ``1.20 s``."""
    if ms >= _MS_PER_S:
        return f"{ms / _MS_PER_S:.2f} s"
    return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.1f} ms"


class Screen:
    """One of the two streams as a person sees it: stderr for talk, stdout for data.

    Attributes:
        width: columns of the terminal, None if there is none (then nothing is wrapped).
        colours: whether to colour: ``NO_COLOR`` says no, ``FORCE_COLOR`` yes, else a terminal decides.
    """

    def __init__(self, *, data: bool = False) -> None:
        self._talk = not data
        terminal = (sys.stdout if data else sys.stderr).isatty()
        self.width = shutil.get_terminal_size().columns if terminal else None
        if os.environ.get("NO_COLOR"):
            self.colours = False
        else:
            self.colours = bool(os.environ.get("FORCE_COLOR")) or (terminal and os.environ.get("TERM") != "dumb")

    def style(self, text: str, colour: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
        """Colour a text, if colours are on."""
        if not self.colours or not (colour or bold or dim):
            return text
        return click.style(text, fg=colour, bold=bold or None, dim=dim or None)

    def say(self, text: str = "") -> None:
        """Print one line (or several) of our own; untrusted parts must be harmless already."""
        click.echo(text, err=self._talk, color=self.colours)

    def quote(
        self, text: str, *, gutter: str = GUTTER, colour: str | None = None, lines_max: int | None = None
    ) -> None:
        """Print untrusted text, each of its lines behind a gutter; beyond ``lines_max`` it says that there is more."""
        margin = self.style(gutter, colour, dim=colour is None)
        cells = None if self.width is None else max(self.width - len(gutter) - 2, 20)
        shown = text if lines_max is None else text[: lines_max * _QUOTED_LINE_CHARS_COUNT]
        for number, line in enumerate(lines_of(shown, cells)):
            if number == lines_max:
                shown = ""
                break
            self.say(f"  {margin}{self.style(line, colour)}")
        if len(shown) < len(text):
            self.say(f"  {margin}{self.style('… more; --json has all of it', dim=True)}")

    def table(self, rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), flexible: int | None = None) -> None:
        """Print rows in columns, two spaces apart.

        Args:
            rows: printable cells, without colours.
            right: columns that are aligned to the right.
            flexible: the column that is cut to what the others leave of the line.
        """
        if not rows:
            return
        widths = [max(map(cells_count, column)) for column in zip(*rows, strict=True)]
        if flexible is not None:
            others = sum(widths) - widths[flexible] + 2 * len(widths)
            widths[flexible] = min(widths[flexible], max((self.width or _PAGE_CELLS) - others, 24))
        for row in rows:
            cells = [clip(cell, width) for cell, width in zip(row, widths, strict=True)]
            self.say("  " + "  ".join(_pad(cell, widths[at], at in right) for at, cell in enumerate(cells)).rstrip())


def _pad(text: str, cells: int, right: bool) -> str:
    space = " " * (cells - cells_count(text))
    return space + text if right else text + space
