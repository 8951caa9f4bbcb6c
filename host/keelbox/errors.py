"""Every exception that Keelbox raises on purpose.

    KeelboxError
    ├── UsageError            the caller's fault: a wrong option, an unknown name            exit 2
    │   ├── ConfigError       a file that a person wrote (limits.yaml, tools.yaml, …)        exit 2
    │   └── InputError        an input that its schema rejects                               exit 3
    ├── ReplayError           a script asks for something else than its cassette holds        exit 1
    ├── StoreError            the outside world: the conversation store cannot be used       exit 1
    └── InternalError         our bug                                                        exit 1

What a script did wrong is never an exception: it is the `RunOutcome` of its run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "ConfigError",
    "Fault",
    "InputError",
    "InternalError",
    "KeelboxError",
    "ReplayError",
    "StoreError",
    "UsageError",
]


class KeelboxError(Exception):
    """Base of all.

    Attributes:
        message: what went wrong: action, object, value and rule.
        hint: what to do next, or None.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\n\nhint: {hint}")
        self.message = message
        self.hint = hint


class UsageError(KeelboxError):
    """The caller asked for something that cannot be."""

    exit_code = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault in a file that a person wrote. Lines and columns count from 1; 0 means the whole file."""

    file: str
    line: int
    column: int
    path: str
    """Where in the document, with dots: ``tools.Current Weather.limits.wall_s``."""
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{where}: {self.path}: {self.message}" if self.path else f"{where}: {self.message}"


class ConfigError(UsageError):
    """A file is not as it must be; carries every fault at once.

    Attributes:
        faults: all of them, in file order.
    """

    def __init__(self, faults: Sequence[Fault], *, hint: str | None = None) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults), hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldFault:
    """One field of an input that its schema rejects."""

    path: str
    """JSON pointer into the input; empty for the whole."""
    rule: str
    """The schema keyword that failed, e.g. ``enum``."""
    expected: str


class InputError(UsageError):
    """A call's input does not fit the tool's input schema.

    Attributes:
        fields: every rejected field.
    """

    exit_code = 3

    def __init__(self, message: str, fields: Sequence[FieldFault], *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.fields = tuple(fields)


class ReplayError(KeelboxError):
    """A script asks for something else than its cassette holds, or not for all of it; the message has the diff."""


class StoreError(KeelboxError):
    """The conversation store cannot be opened, read or written."""


class InternalError(KeelboxError):
    """A bug of ours."""
