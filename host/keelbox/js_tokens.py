"""A small, honest scanner of JavaScript: names and punctuation, without strings, comments, template text and regexes.

It is for hints only. It does not parse: where the language is ambiguous without a parser (a slash after a closing
brace), it guesses, and a wrong guess costs a hint, nothing more. The sandbox decides whether a script is right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["Token", "match_brackets", "scan"]

_SPACE = re.compile(r"[\s\ufeff]++")
_NAME = re.compile(r"[#@]?[\w$\\]++")
_NUMBER = re.compile(r"\.?\d[\w.]*+(?:(?<=[eE])[+-]\d[\w]*+)?")
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'", re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\[\n\r]|\\[^\n\r]|\[(?:[^\]\\\n\r]|\\[^\n\r])*+\])++/\w*+")
_PUNCTUATION = re.compile(r"=>|\?\.(?!\d)|\.\.\.|\+\+|--|.", re.DOTALL)
_TEMPLATE_PART = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*+", re.DOTALL)
_LINE_END = re.compile(r"\r\n|[\n\r\u2028\u2029]")

_OPERATOR_NAMES = frozenset(
    {
        "return",
        "typeof",
        "case",
        "in",
        "of",
        "delete",
        "void",
        "throw",
        "new",
        "instanceof",
        "do",
        "else",
        "await",
        "yield",
    }
)
"""Names after which an expression begins, so that a slash begins a regex."""

_HEAD_NAMES = frozenset({"if", "while", "for", "with"})
_PAIRS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One token; lines and columns count from 1, columns in characters."""

    kind: Literal["name", "number", "string", "template", "regex", "punctuation"]
    text: str
    line: int
    column: int
    first_on_line: bool


class _Scanner:
    def __init__(self, source: str) -> None:
        self.source = source
        self.index = 0
        self.line = 1
        self.line_start = 0
        self.tokens: list[Token] = []
        self.braces: list[bool] = []
        """For each open brace, whether it is the ``${`` of a template."""
        self.heads: list[bool] = []
        """For each open parenthesis, whether it stands behind ``if``, ``while``, ``for`` or ``with``."""
        self.after_head = False
        self.no_regex_line = 0
        """A line on which a slash turned out not to begin a regex; not tried again there: it keeps the time linear."""

    def scan(self) -> list[Token]:
        while self.index < len(self.source) and self.step():
            pass
        return self.tokens

    def step(self) -> bool:
        """Take one token or gap; False where the scanner has lost its way and must stop."""
        source, index = self.source, self.index
        if space := _SPACE.match(source, index):
            return self.skip(space.end())
        if source.startswith("//", index) or (index == 0 and source.startswith("#!")):
            end = _LINE_END.search(source, index)
            return self.skip(end.start() if end else len(source))
        if source.startswith("/*", index):
            end_index = source.find("*/", index + 2)
            return end_index >= 0 and self.skip(end_index + 2)
        if number := _NUMBER.match(source, index):
            return self.add("number", number.end())
        if name := _NAME.match(source, index):
            return self.add("name", name.end())
        if source[index] in "\"'":
            string = _STRING.match(source, index)
            return string is not None and self.add("string", string.end())
        if source[index] == "`":
            return self.template()
        if source[index] == "}" and self.braces and self.braces[-1]:
            self.braces.pop()
            return self.template()
        if source[index] == "/" and self.line != self.no_regex_line and self.regex_may_begin():
            if regex := _REGEX.match(source, index):
                return self.add("regex", regex.end())
            self.no_regex_line = self.line
        return self.punctuation()

    def template(self) -> bool:
        """Take template text up to its end or its next ``${``; ``index`` is at the quote or the closing brace."""
        part = _TEMPLATE_PART.match(self.source, self.index + 1)
        end = part.end() if part else len(self.source)
        if end >= len(self.source):
            return False
        if self.source[end] == "`":
            return self.add("template", end + 1)
        self.braces.append(True)
        self.add("template", end + 2)
        return True

    def punctuation(self) -> bool:
        match = _PUNCTUATION.match(self.source, self.index)
        text = match.group() if match else ""
        if text == "{":
            self.braces.append(False)
        elif text == "}" and self.braces:
            self.braces.pop()
        elif text == "(":
            self.heads.append(bool(self.tokens) and self.tokens[-1].text in _HEAD_NAMES)
        self.after_head = text == ")" and bool(self.heads) and self.heads.pop()
        return self.add("punctuation", self.index + len(text))

    def regex_may_begin(self) -> bool:
        if not self.tokens:
            return True
        last = self.tokens[-1]
        if last.kind == "punctuation":
            return self.after_head if last.text == ")" else last.text not in {"]", "++", "--"}
        if last.kind == "template":
            return last.text.endswith("${")
        return last.kind == "name" and last.text in _OPERATOR_NAMES

    def add(
        self, kind: Literal["name", "number", "string", "template", "regex", "punctuation"], end: int
    ) -> Literal[True]:
        first = not self.tokens or self.tokens[-1].line != self.line
        self.tokens.append(
            Token(
                kind=kind,
                text=self.source[self.index : end],
                line=self.line,
                column=self.index - self.line_start + 1,
                first_on_line=first,
            )
        )
        return self.skip(end)

    def skip(self, end: int) -> Literal[True]:
        for line_end in _LINE_END.finditer(self.source, self.index, end):
            self.line += 1
            self.line_start = line_end.end()
        self.index = end
        return True


def scan(source: str) -> list[Token]:
    """Split a module's source into tokens; stops early where the text makes no sense. Takes linear time."""
    return _Scanner(source).scan()


def match_brackets(tokens: list[Token]) -> dict[int, int]:
    """For each opening bracket's index, the index of the one that closes it; unmatched ones are left out."""
    matches: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind != "punctuation":
            continue
        if token.text in "([{":
            opened.append(index)
        elif (wanted := _PAIRS.get(token.text)) and opened and tokens[opened[-1]].text == wanted:
            matches[opened.pop()] = index
    return matches
