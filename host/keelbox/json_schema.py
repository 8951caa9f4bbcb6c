"""JSON Schemas of tools (draft 2020-12), compiled once, and what they say about a value, without repeating it.

Strict: nothing is coerced ("3" and true are no integers; 3.0 is one, as JSON Schema has it), formats are enforced,
patterns run on a linear engine, and no reference leaves the schema.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from keelbox.errors import FieldFault
from keelbox_sandbox.codec import CodecError, encode

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

__all__ = ["ALL_FAULTS_BYTES", "DIALECT", "FIELD_FAULTS_COUNT", "JsonSchema", "SchemaProblem", "schema_problems"]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

FIELD_FAULTS_COUNT: Final = 50
"""Most rejected fields that are told of one value."""

ALL_FAULTS_BYTES: Final = 16 * 1024
"""Of a larger value only the first rejected field is told. The validator makes all of its errors before it gives the
first, at 10 to 15 µs each: a list of a million wrong numbers took 16 s, and one of this size takes 0.1 s.
"""

_SHOWN_CHARACTERS_COUNT: Final = 80
_SHOWN_ITEMS_COUNT: Final = 20
_ALTERNATIVES_DEPTH_COUNT: Final = 3

SchemaProblem: TypeAlias = tuple[tuple[str | int, ...], str]
"""Where in the schema, and what is wrong there."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The keywords of the dialect's vocabularies, by what they hold.
_ONE_SCHEMA: Final = _words("""
    additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems
    unevaluatedProperties
""")
_SCHEMA_BY_NAME: Final = _words("$defs definitions dependentSchemas patternProperties properties")
_SCHEMA_LIST: Final = _words("allOf anyOf oneOf prefixItems")
_OTHER: Final = _words("""
    $anchor $comment $dynamicAnchor $dynamicRef $id $ref $schema $vocabulary const contentEncoding contentMediaType
    default dependentRequired deprecated description enum examples exclusiveMaximum exclusiveMinimum format
    maxContains maxItems maxLength maxProperties maximum minContains minItems minLength minProperties minimum
    multipleOf pattern readOnly required title type uniqueItems writeOnly
""")
_KEYWORDS: Final = _ONE_SCHEMA | _SCHEMA_BY_NAME | _SCHEMA_LIST | _OTHER

_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")

_PHRASES: Final[Mapping[str, str]] = {
    "contains": "a list with an item of the kind that `contains` asks for",
    "exclusiveMaximum": "less than {}",
    "exclusiveMinimum": "more than {}",
    "falseSchema": "no value here",
    "format": "text in the format {}",
    "maxItems": "a list of at most {} items",
    "maxLength": "text of at most {} characters",
    "maxProperties": "a mapping of at most {} fields",
    "maximum": "at most {}",
    "minItems": "a list of at least {} items",
    "minLength": "text of at least {} characters",
    "minProperties": "a mapping of at least {} fields",
    "minimum": "at least {}",
    "multipleOf": "a multiple of {}",
    "not": "a value that `not` does not describe",
    "pattern": "text that matches {}",
    "required": "a value",
    "uniqueItems": "a list whose items all differ",
}


class JsonSchema:
    """A compiled schema. Equal to another with the same document; safe to share between threads.

    Attributes:
        document: the schema as it was written.
    """

    __slots__ = ("_validator", "document")

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Compile a schema.

        Raises:
            ValueError: it has problems; `schema_problems` says which.
        """
        self.document = document
        self._validator = _compiled(document)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonSchema) and self.document == other.document

    __hash__ = None  # type: ignore[assignment]  # a document can be changed from outside

    def __repr__(self) -> str:
        return f"JsonSchema({self.document!r})"

    def faults(self, value: Any) -> tuple[FieldFault, ...]:
        """Say what is wrong with each field of a value, in the order of their paths; nothing if it fits.

        At most `FIELD_FAULTS_COUNT` fields, and one if the value is larger than `ALL_FAULTS_BYTES`. What is no strict
        JSON (NaN, an integer beyond 2^53 - 1, an object of Python, …) fits no schema.
        """
        try:
            size_bytes = len(encode(value))
        except CodecError as error:
            return (FieldFault(path=error.path, rule="json", expected=f"strict JSON ({error.reason})"),)
        errors = self._validator.iter_errors(value) if size_bytes <= ALL_FAULTS_BYTES else self._first_error(value)
        found = islice((fault for error in errors for fault in self._field_faults(error)), FIELD_FAULTS_COUNT)
        return tuple(sorted(found, key=lambda fault: (fault.path, fault.rule)))

    def _first_error(self, value: Any) -> Iterator[ValidationError]:
        from jsonschema_rs import ValidationError

        try:
            self._validator.validate(value)
        except ValidationError as error:
            yield error

    def _field_faults(self, error: ValidationError) -> Iterator[FieldFault]:
        rule = error.kind.name
        if rule in ("additionalProperties", "unevaluatedProperties"):
            expected = self._known_fields(error.schema_path)
            for name in error.kind.value:
                yield FieldFault(path=_pointer([*error.instance_path, name]), rule=rule, expected=expected)
        else:
            yield FieldFault(path=_pointer(_steps(error)), rule=rule, expected=_expected(error))

    def _known_fields(self, schema_path: Sequence[str | int]) -> str:
        held: Any = self.document
        for step in schema_path[:-1]:
            held = held[step]
        names = _mapping(_mapping(held).get("properties"))
        return f"no field of this name; the fields are: {_listed(names)}" if names else "no field of this name"


def schema_problems(document: Mapping[str, Any]) -> list[SchemaProblem]:
    """Find what is wrong with a schema.

    All misspelt keywords and all that the dialect's own schema objects to; if there is none, the first thing that keeps
    the schema from compiling: a reference that leads nowhere or outside, an unknown format, a pattern that needs
    backtracking.
    """
    from jsonschema_rs import ValidationError

    problems = list(_keyword_problems(document, ()))
    for error in _dialect().iter_errors(document):
        place = tuple(error.instance_path)
        # The dialect's vocabularies overlap, so that an objection may come several times.
        expected = f"one of: {', '.join(_TYPES)}" if place[-1:] == ("type",) else _expected(error)
        if (problem := (place, f"is no JSON Schema: must be {expected}")) not in problems:
            problems.append(problem)
    if not problems:
        try:
            _compiled(document)
        except ValidationError as error:
            problems.append((tuple(error.instance_path), f"is no JSON Schema that can be used: {_unusable(error)}"))
    return problems


@cache
def _dialect() -> Validator:
    return _compiled({"$ref": DIALECT})


def _unusable(error: ValidationError) -> str:
    if error.kind.name == "format":
        return "a pattern is a regular expression without look-around and back-references, of bounded size"
    if error.kind.name == "$ref":
        reason = error.message.partition(" and retrieving it")[0]
        return f"{reason}; a reference must lead to a place in the same schema, as #/$defs/city"
    return error.message.partition(". Adjust configuration")[0]


def _compiled(document: Mapping[str, Any]) -> Validator:
    from jsonschema_rs import Draft202012Validator, RegexOptions

    return Draft202012Validator(
        dict(document),
        validate_formats=True,
        ignore_unknown_formats=False,
        pattern_options=RegexOptions(),
        offline=True,
    )


def _keyword_problems(schema: Any, place: tuple[str | int, ...]) -> Iterator[SchemaProblem]:
    """Find keywords that are nearly one: JSON Schema ignores what it does not know, so a slip would open the border."""
    for name, held in _mapping(schema).items():
        here = (*place, name)
        if name == "$schema" and held not in (DIALECT, f"{DIALECT}#"):
            yield here, f"only draft 2020-12 is read: write {DIALECT}, or leave $schema out"
        elif name in _ONE_SCHEMA:
            yield from _keyword_problems(held, here)
        elif name in _SCHEMA_BY_NAME:
            for key, each in _mapping(held).items():
                yield from _keyword_problems(each, (*here, key))
        elif name in _SCHEMA_LIST:
            for index, each in enumerate(_list(held)):
                yield from _keyword_problems(each, (*here, index))
        elif name not in _KEYWORDS and (near := difflib.get_close_matches(name, _KEYWORDS, n=1, cutoff=0.75)):
            yield here, f"unknown keyword, which would be ignored; did you mean {near[0]}?"


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def _steps(error: ValidationError) -> list[str | int]:
    """Where the rejected field is: of one that is missing, where it should be."""
    missing = [error.kind.value] if error.kind.name == "required" else []
    return [*error.instance_path, *missing]


def _expected(error: ValidationError, depth: int = 0) -> str:
    """Say what a value must be, from the schema alone."""
    name, value = error.kind.name, error.kind.value
    if name == "type":
        return " or ".join(value)
    if name == "enum":
        return f"one of: {_listed(value)}"
    if name == "const":
        return _shown(value)
    if name in ("anyOf", "oneOf"):
        return _alternatives(error, depth)
    if name == "propertyNames":
        return f"a mapping with names that are {_expected(value, depth)}"
    phrase = _PHRASES.get(name, f"a value that passes {name}")
    return phrase.format(value if name in ("format", "pattern") else _shown(value))


def _alternatives(error: ValidationError, depth: int) -> str:
    branches: list[list[ValidationError]] = error.kind.value
    if not all(branches):
        return "a value that only one of the alternatives describes"
    if depth == _ALTERNATIVES_DEPTH_COUNT:
        return "a value that one of the alternatives describes"
    ways: list[str] = []
    for first, *_ in branches:  # of each alternative its first objection: enough to choose one, and short
        inner, expected = _steps(first)[len(error.instance_path) :], _expected(first, depth + 1)
        ways.append(f"{_pointer(inner)}: {expected}" if inner else expected)
    return f"either {', or '.join(dict.fromkeys(ways[:_SHOWN_ITEMS_COUNT]))}"


def _listed(values: Iterable[Any]) -> str:
    shown = [_shown(value) for value in islice(values, _SHOWN_ITEMS_COUNT + 1)]
    return ", ".join([*shown[:_SHOWN_ITEMS_COUNT], "…"] if len(shown) > _SHOWN_ITEMS_COUNT else shown)


def _shown(value: Any) -> str:
    """Show a value of the schema: a plain word as it is, anything else as JSON."""
    plain = isinstance(value, str) and value.isprintable() and "," not in value and value == value.strip() != ""
    return _cut(value if plain else json.dumps(value, ensure_ascii=False))


def _pointer(steps: Iterable[str | int]) -> str:
    """Write a JSON pointer (RFC 6901); a step that is longer than a name should be is cut."""
    return "".join(f"/{_cut(str(step)).replace('~', '~0').replace('/', '~1')}" for step in steps)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS_COUNT else f"{text[:_SHOWN_CHARACTERS_COUNT]}…"
