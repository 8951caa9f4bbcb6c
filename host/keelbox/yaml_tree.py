"""Turns a YAML text into plain values, their places and what is refused about the text; see ``yaml_file``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from keelbox_sandbox.codec import DEPTH_COUNT, INTEGER_MAX

__all__ = ["Loc", "Place", "Tree", "TreeError", "read_number", "read_tree"]

Loc: TypeAlias = tuple[str | int, ...]
Place: TypeAlias = tuple[int, int]
"""Line and column, both from 1."""

_NULL = re.compile(r"(?:null|Null|NULL|~|)\Z")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_INT = re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_TAG_PREFIX = "tag:yaml.org,2002:"
_INTEGER_DIGITS_COUNT = 20
_NUMBER_SEEN_CHARACTERS_COUNT = 40


class TreeError(ValueError):
    """The text cannot be read on.

    Attributes:
        message, place: what is wrong and where.
    """

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """What a text holds."""

    value: Any
    keys: dict[Loc, Place] = field(default_factory=dict[Loc, Place])
    """Where each key stands; of a list item, where the item begins."""
    values: dict[Loc, Place] = field(default_factory=dict[Loc, Place])
    refused: list[tuple[Loc, Place, str]] = field(default_factory=list[tuple[Loc, Place, str]])


def read_tree(text: str) -> Tree:
    """Read one document.

    Raises:
        TreeError: the text is not YAML, or is nested too deeply.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError
    from ruamel.yaml.reader import ReaderError

    # Events instead of ruamel's own tree: they keep each anchor, tag and place, and nesting is bounded before it costs
    # (its scanner takes quadratic time in the depth: 12 s for 5,000 open brackets).
    parser: Any = YAML(typ="safe", pure=True)
    try:
        return _Builder().document(parser.parse(text))
    except MarkedYAMLError as caught:
        error: Any = caught
        mark = error.problem_mark or error.context_mark
        message = f"is not YAML: {error.problem or error.context}"
        if "'\\t'" in message:
            message += "; indent with spaces"
        raise TreeError(message, (mark.line + 1, mark.column + 1) if mark else (0, 0)) from None
    except ReaderError as caught:
        position = int(vars(caught)["position"])
        message = f"holds the character U+{ord(text[position]):04X}, which must be written as an escape"
        before = text[:position]
        raise TreeError(message, (before.count("\n") + 1, position - before.rfind("\n"))) from None


class _Builder:
    """Makes a tree from the parser's events."""

    def __init__(self) -> None:
        self.tree = Tree(value=None)

    def document(self, events: Iterator[Any]) -> Tree:
        value: Any = None
        starts = (event for event in events if type(event).__name__ == "DocumentStartEvent")
        if next(starts, None) is not None:
            first = next(events)
            value = self._value(first, events, (), _place(first))
        if (second := next(starts, None)) is not None:
            self._refuse((), _place(second), "a second document begins here; a file holds one")
        return replace(self.tree, value=value)

    def _refuse(self, loc: Loc, place: Place, message: str) -> None:
        self.tree.refused.append((loc, place, message))

    def _value(self, event: Any, events: Iterator[Any], loc: Loc, key_place: Place) -> Any:
        # The parser gives a value that is absent the place of the next thing in the file.
        absent = type(event).__name__ == "ScalarEvent" and event.value == "" and event.implicit[0]
        self.tree.keys.setdefault(loc, key_place)
        self.tree.values.setdefault(loc, key_place if absent else _place(event))
        return self._content(event, events, loc)

    def _content(self, event: Any, events: Iterator[Any], loc: Loc) -> Any:
        kind, place = type(event).__name__, _place(event)
        if kind == "AliasEvent":
            self._refuse(loc, place, f"alias *{event.anchor} is not supported; write the value out")
            return None
        if event.anchor:
            self._refuse(loc, place, f"anchor &{event.anchor} is not supported; take it away")
        if event.tag is not None:
            tag = str(event.tag).replace(_TAG_PREFIX, "!!")
            self._refuse(loc, place, f"tag {tag} is not supported; take it away")
        if kind == "ScalarEvent":
            return self._scalar(event, loc, place)
        if len(loc) >= DEPTH_COUNT:
            raise TreeError(f"is nested deeper than {DEPTH_COUNT}", place)
        return self._mapping(events, loc) if kind == "MappingStartEvent" else self._sequence(events, loc)

    def _sequence(self, events: Iterator[Any], loc: Loc) -> list[Any]:
        items: list[Any] = []
        while type(event := next(events)).__name__ != "SequenceEndEvent":
            items.append(self._value(event, events, (*loc, len(items)), _place(event)))
        return items

    def _mapping(self, events: Iterator[Any], loc: Loc) -> dict[str, Any]:
        pairs: dict[str, Any] = {}
        lines: dict[str, int] = {}
        while type(event := next(events)).__name__ != "MappingEndEvent":
            place = _place(event)
            key = self._key(event, events, loc, place)
            value = self._value(next(events), events, (*loc, key), place)
            if key in pairs:
                self._refuse((*loc, key), place, f"duplicate key; the first is in line {lines[key]}")
            else:
                pairs[key], lines[key] = value, place[0]
        return pairs

    def _key(self, event: Any, events: Iterator[Any], loc: Loc, place: Place) -> str:
        plain = type(event).__name__ == "ScalarEvent"
        name = str(event.value) if plain else "?"
        key = self._content(event, events, (*loc, name))
        if isinstance(key, str):
            return key
        self._refuse((*loc, name), place, f'a key must be text; write it "{name}"' if plain else "a key must be text")
        return name

    def _scalar(self, event: Any, loc: Loc, place: Place) -> Any:
        text: str = event.value
        if not text.isascii():
            try:
                # JSON writes a character beyond U+FFFF as two escapes.
                text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            except UnicodeDecodeError:
                self._refuse(loc, place, "holds half of a surrogate pair")
                return ""
        if not event.implicit[0]:
            return text
        if _NULL.match(text):
            return None
        if _BOOL.match(text):
            return text[0] in "tT"
        try:
            return read_number(text)
        except ValueError as error:
            self._refuse(loc, place, str(error))
            return 0


def read_number(text: str) -> int | float | str:
    """Give the number that a plain scalar is, or the text itself.

    Raises:
        ValueError: it is a number that strict JSON does not hold.
    """
    shown = text[:_NUMBER_SEEN_CHARACTERS_COUNT]
    if _INT.match(text):
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        digits = text if base == 10 else text[2:]
        if len(digits) > _INTEGER_DIGITS_COUNT or abs(value := int(digits, base)) > INTEGER_MAX:
            raise ValueError(f"the integer {shown} is beyond ±(2^53 - 1); write it as text, in quotes")
        return value
    if _NOT_FINITE.match(text) or (_FLOAT.match(text) and not math.isfinite(float(text))):
        raise ValueError(f"must be a finite number, got {shown}")
    return float(text) if _FLOAT.match(text) else text


def _place(event: Any) -> Place:
    return event.start_mark.line + 1, event.start_mark.column + 1
