"""The parent's side of the measuring processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from .contenders import CONTENDERS

__all__ = ["Child", "ChildError", "Field", "environment", "once"]


class ChildError(Exception):
    """A measuring process ended before it answered; what it had to say is on stderr."""


def environment(**extra: str) -> dict[str, str]:
    """Get this process's environment, with its import path for the children."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path), **extra}


def once(module: str, *arguments: str, env: Mapping[str, str] | None = None) -> Any:
    """Run a module of this package to its end and get its one JSON document.

    Raises:
        ChildError: it failed.
    """
    command = [sys.executable, "-m", f"bench.border.{module}", *arguments]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, env=env or environment(), text=True)
    if done.returncode != 0:
        raise ChildError(f"{module} ended with {done.returncode}")
    return json.loads(done.stdout)


class Child:
    """One contender in its process, which lives until `close`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.border.child", name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip

    def close(self) -> None:
        """Let it end, and wait for that."""
        self._process.communicate()

    def kill(self) -> None:
        """End it in the middle of whatever it does."""
        self._process.kill()

    def order(self, measure: str, **arguments: float) -> None:
        """Have something measured; `answer` gets the figures."""
        assert self._process.stdin is not None
        print(json.dumps({"measure": measure, **arguments}), file=self._process.stdin, flush=True)

    def answer(self) -> Any:
        """Get the answer to the oldest order; the first of all says that it is ready.

        Raises:
            ChildError: the process has ended.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ChildError(f"{self.name} ended with {self._process.wait()}")
        return json.loads(line)


class Field:
    """The contenders that can be measured here, each in its process. A peer that fails drops out, we do not.

    Attributes:
        notes: why a contender has no figures, by its name.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.notes: dict[str, str] = {}
        self._children: dict[str, Child] = {}
        self._names = tuple(names)

    def __enter__(self) -> Field:
        for name in self._names:
            if CONTENDERS[name].version() is None:
                self.notes[name] = "not installed"
            else:
                self._children[name] = Child(name)
        for name in self._children:
            self._answer(name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children.values():
            if error is not None:
                child.kill()
            child.close()

    def ask(self, name: str, measure: str, **arguments: float) -> Any:
        """Have something measured and wait for it; None if the contender is not there or has failed.

        Raises:
            ChildError: it is not a peer's but our own process that failed.
        """
        if name in self.notes:
            return None
        self._children[name].order(measure, **arguments)
        return self._answer(name)

    def _answer(self, name: str) -> Any:
        try:
            return self._children[name].answer()
        except ChildError:
            if not CONTENDERS[name].is_peer:
                raise
            self.notes[name] = "failed: see stderr"
            return None
