"""Hints on a script's source: habits from other JavaScript hosts that do not work here, and ops that nobody waits for.

Only what can be seen without running or parsing the script; a hint may be missing, and it never makes a check fail.
"""

from __future__ import annotations

import posixpath
from bisect import bisect
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from keelbox.js_tokens import Token, match_brackets, scan

__all__ = ["Hint", "find_hints", "find_import"]

_RULES = {
    "fetch": "no-fetch",
    "XMLHttpRequest": "no-fetch",
    "require": "no-require",
    "console": "no-console",
    "process": "no-process",
    "setTimeout": "no-timers",
    "setInterval": "no-timers",
    "setImmediate": "no-timers",
    "crypto": "no-crypto",
    "Buffer": "no-buffer",
}
"""Globals of other hosts, with the rule that a hint on one goes by."""

_OPS = {
    "system/http": frozenset(
        {"get", "head", "post", "put", "patch", "del", "request", "getJson", "postJson", "getText", "getBytes"}
    ),
    "system/agent": frozenset({"getMessages", "getLastReply"}),
}
"""The functions of the system modules that return a promise."""

_RESPONSE_FIELDS = frozenset({"ok", "status", "headers", "url", "body", "text", "error"})
_DECLARING_NAMES = frozenset({"const", "let", "var", "function", "class"})
_CONTINUING_NAMES = frozenset(
    {"await", "typeof", "new", "delete", "in", "of", "instanceof", "case", "extends", "yield"}
)
_STATEMENT_ENDS = frozenset({";", "{", "}"})
_COMBINERS = frozenset({"all", "allSettled", "race", "any"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """One thing in a script that its author will want to look at. Lines and columns count from 1."""

    file: str
    line: int
    column: int
    rule: str
    """A short name for the kind of hint, e.g. ``un-awaited``."""
    message: str
    hint: str
    """What to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpCall:
    start: int
    """Index of the first token of the call."""
    end: int
    """Index of its closing parenthesis."""
    text: str


@dataclass(slots=True, kw_only=True)
class _Bindings:
    modules: dict[str, str] = field(default_factory=dict[str, str])
    """Local name of a whole module → the module."""
    functions: dict[str, str] = field(default_factory=dict[str, str])
    """Local name of one function that returns a promise → its own name."""
    names: set[str] = field(default_factory=set[str])
    """All imported names."""


class _Module:
    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.tokens = scan(source)
        self.closing = match_brackets(self.tokens)
        self.opening = {end: start for start, end in self.closing.items()}
        self.bindings = self._bindings()

    def text(self, index: int) -> str:
        """The text of a name or punctuation token; empty beyond the ends and for literals."""
        if 0 <= index < len(self.tokens) and self.tokens[index].kind in ("name", "punctuation"):
            return self.tokens[index].text
        return ""

    def hint(self, index: int, rule: str, message: str, hint: str) -> Hint:
        token = self.tokens[index]
        return Hint(file=self.name, line=token.line, column=token.column, rule=rule, message=message, hint=hint)

    def names(self) -> list[tuple[int, Token]]:
        """Every name that is not a property of something, with its index."""
        return [
            (index, token)
            for index, token in enumerate(self.tokens)
            if token.kind == "name" and self.text(index - 1) not in (".", "?.")
        ]

    def _bindings(self) -> _Bindings:
        found = _Bindings()
        for index, token in self.names():
            if token.text != "import" or self.text(index + 1) in ("", "(", "."):
                continue
            end = index + 1
            while self.text(end) not in ("", ";", "import", "("):
                end += 1
            if end < len(self.tokens) and self.tokens[end].kind == "string":
                self._read_clause(index + 1, end, self.tokens[end].text[1:-1], found)
        return found

    def _read_clause(self, start: int, end: int, module: str, found: _Bindings) -> None:
        ops = _OPS.get(module, frozenset())
        braces = False
        for index in range(start, end):
            text = self.text(index)
            if text in ("{", "}"):
                braces = text == "{"
            if self.tokens[index].kind != "name" or text in ("as", "from") or self.text(index + 1) == "as":
                continue
            found.names.add(text)
            origin = self.text(index - 2) if self.text(index - 1) == "as" else text
            if braces and origin in ops:
                found.functions[text] = origin
            elif module in _OPS and (not braces or origin == "default"):
                found.modules[text] = module

    def op_calls(self) -> list[_OpCall]:
        """Every call of a function that returns a promise and belongs to a system module."""
        calls: list[_OpCall] = []
        for index, token in self.names():
            paren = None
            if token.text in self.bindings.functions and self.text(index + 1) == "(":
                paren = index + 1
            elif token.text in self.bindings.modules and self.text(index + 1) in (".", "?."):
                known = self.text(index + 2) in _OPS[self.bindings.modules[token.text]]
                paren = index + 3 if known and self.text(index + 3) == "(" else None
            if paren is not None and paren in self.closing:
                text = "".join(part.text for part in self.tokens[index:paren])
                calls.append(_OpCall(start=index, end=self.closing[paren], text=text))
        return calls

    def begins_statement(self, index: int) -> bool:
        """Whether the token can only be the first of a statement, so that nobody takes the value."""
        before = self.text(index - 1)
        if index == 0 or before in _STATEMENT_ENDS or before in ("else", "do", "void"):
            return True
        head = self.text(self.opening.get(index - 1, 0) - 1)
        if before == ")" and head in ("if", "while", "for"):
            return True
        previous = self.tokens[index - 1]
        ends_value = previous.kind != "punctuation" or before in (")", "]")
        return self.tokens[index].first_on_line and ends_value and before not in _CONTINUING_NAMES


def find_hints(name: str, source: str, advice: Mapping[str, str]) -> tuple[Hint, ...]:
    """Look through one module.

    Args:
        name: how the hints name the module.
        source: its source, which should have been parsed by the sandbox before.
        advice: what the runtime says of each global that it does not have, by name.

    Returns:
        The hints in the order of their places.
    """
    module = _Module(name, source)
    calls = module.op_calls()
    hints = [*_foreign_globals(module, advice), *_at_once(module, calls), *_unawaited(module, calls)]
    return tuple(sorted(hints, key=lambda hint: (hint.line, hint.column)))


def find_import(importer: str, source: str, wanted: str) -> tuple[int, int] | None:
    """Find the line and column where a module imports another one.

    Args:
        importer: the name of the module that imports.
        source: its source.
        wanted: the name of the module that is imported.
    """
    tokens = scan(source)
    for before, token in pairwise(tokens):
        if token.kind == "string" and before.text in ("from", "import", "("):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(importer), token.text[1:-1]))
            if name == wanted:
                return token.line, token.column
    return None


def _foreign_globals(module: _Module, advice: Mapping[str, str]) -> list[Hint]:
    own = _own_names(module)
    hints: list[Hint] = []
    for index, token in module.names():
        if token.text not in _RULES or token.text in own:
            continue
        after = module.text(index + 1)
        method = after == "(" and module.text(module.closing.get(index + 1, -2) + 1) == "{"
        if after in ("(", ".", "?.") and not method:
            message = f"{token.text} does not exist in the sandbox"
            hints.append(module.hint(index, _RULES[token.text], message, advice[token.text]))
    return hints


def _own_names(module: _Module) -> set[str]:
    """Find foreign names that the module seems to declare itself, in whatever way."""
    own = set(module.bindings.names)
    for index, token in module.names():
        before, after = module.text(index - 1), module.text(index + 1)
        declared = (
            before in _DECLARING_NAMES or after == "=>" or (before == "*" and module.text(index - 2) == "function")
        )
        listed = before in ("{", ",", "(", "[", "...", ":") and after in (",", "}", ")", "]", "=")
        if declared or listed:
            own.add(token.text)
    return own


def _at_once(module: _Module, calls: list[_OpCall]) -> list[Hint]:
    starts = [call.start for call in calls]
    loops = [index for index in range(len(module.tokens)) if module.text(index) in ("map", "from", "flatMap")]
    hints: list[Hint] = []
    for index, token in module.names():
        paren = index + 3
        if token.text != "Promise" or module.text(index + 2) not in _COMBINERS or paren not in module.closing:
            continue
        ops_count = bisect(starts, module.closing[paren]) - bisect(starts, paren)
        looped = bisect(loops, module.closing[paren]) > bisect(loops, paren)
        if ops_count > 1 or (ops_count and looped):
            combiner = f"Promise.{module.text(index + 2)}"
            hints.append(
                module.hint(
                    index,
                    "at-once",
                    f"{combiner} starts several ops at once; the second fails with buffer-busy",
                    "await each op before the next, for example in a for … of loop",
                )
            )
    return hints


def _unawaited(module: _Module, calls: list[_OpCall]) -> list[Hint]:
    awaited = {module.text(index + 1) for index, token in module.names() if token.text == "await"}
    read = _read_as_responses(module)
    hints: list[Hint] = []
    for call in calls:
        variable = module.text(call.start - 2) if module.text(call.start - 1) == "=" else ""
        kept = module.text(call.start - 3) in ("const", "let", "var") and variable not in awaited
        if module.begins_statement(call.start):
            message = f"nobody waits for {call.text}(): the run fails with detached-op if it ends before the answer"
        elif kept and module.text(call.end + 1) != "." and variable in read:
            message = f"{variable} is the promise of {call.text}(), not its response"
        else:
            continue
        hints.append(module.hint(call.start, "un-awaited", message, f"write await {call.text}(…)"))
    return hints


def _read_as_responses(module: _Module) -> set[str]:
    return {
        token.text
        for index, token in module.names()
        if module.text(index + 1) in (".", "?.") and module.text(index + 2) in _RESPONSE_FIELDS
    }
