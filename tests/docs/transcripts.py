"""Runs the commands of a page in a shell, as a reader would, and masks what differs from one run to the next.

A page's parts: ``Save this as `NAME`:`` and a block is a file; a ``console`` block holds commands behind ``$`` and what
they print.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Command", "File", "Shell", "masked", "parts"]

TOP = Path(__file__).parents[2]

_PART = re.compile(
    r"^Save this as `(?P<name>[^`]+)`:\n\n```\w+\n(?P<text>.*?)^```$|^```console\n(?P<console>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)

_MASKS = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
    (r"127\.0\.0\.1:\d+", "LOOPBACK"),
    (r"\b[\d.]+ (ms|s)\b", "TIME"),
    (r"^  used .*$", "USED"),
    (r"\?\S*…", "…"),  # a URL is cut to what the other columns leave
    (r"[ \t]+", " "),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that the reader writes."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command that the reader types, and what the page says that it prints."""

    text: str
    output: str


def parts(page: str) -> Iterator[File | Command]:
    """Give what a reader does, in order."""
    for found in _PART.finditer(page):
        if found["name"]:
            yield File(name=found["name"], text=found["text"])
        for text, output in _COMMAND.findall(found["console"] or ""):
            yield Command(text=text, output=output)


def masked(output: str) -> str:
    """Take out ids, ports, times, and what was used."""
    for pattern, mask in _MASKS:
        output = re.sub(pattern, mask, output, flags=re.MULTILINE)
    return output.strip()


class Shell:
    """One shell that keeps its folder and variables from command to command; `close` it.

    Args:
        folder: where it starts.
        bin_folder: where ``keelbox`` and ``python`` are put, as this interpreter has them.
        replace: texts of the page, each with what it is here.
    """

    def __init__(self, folder: Path, *, bin_folder: Path, replace: Mapping[str, str]) -> None:
        self._replace = replace
        bin_folder.mkdir()
        for name, module in (("keelbox", "-m keelbox "), ("python", "")):
            (bin_folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {module}"$@"\n', encoding="utf-8")
            (bin_folder / name).chmod(0o755)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("KEELBOX_RUN_")}
        self._shell = subprocess.Popen(
            ["/bin/sh"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={
                **inherited,
                "PATH": f"{bin_folder}{os.pathsep}{inherited['PATH']}",
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            },
        )

    def run(self, command: str) -> str:
        """Run a command and give all that it prints."""
        for text, here in self._replace.items():
            command = command.replace(text, here)
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{command} </dev/null\nprintf '\\n<end>\\n'\n")
        self._shell.stdin.flush()
        printed = ""
        while not printed.endswith("\n<end>\n"):
            line = self._shell.stdout.readline()
            assert line, f"the shell ended: {printed}"
            printed += line
        return printed.removesuffix("\n<end>\n")

    def save(self, file: File) -> None:
        """Write a file in the shell's present folder."""
        path = Path(self.run("pwd").strip()) / file.name
        path.parent.mkdir(exist_ok=True)
        path.write_text(file.text, encoding="utf-8")

    def close(self) -> None:
        """End it."""
        self._shell.communicate()
