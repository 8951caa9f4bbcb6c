"""JSON Schemas of tools: what they say about a value, and what is wrong with one."""

from __future__ import annotations

import math
from typing import Any

import pytest

from keelbox.json_schema import ALL_FAULTS_BYTES, DIALECT, FIELD_FAULTS_COUNT, JsonSchema, schema_problems


def faults(schema: dict[str, Any], value: Any) -> list[tuple[str, str, str]]:
    return [(fault.path, fault.rule, fault.expected) for fault in JsonSchema(schema).faults(value)]


@pytest.mark.parametrize(
    ("schema", "value", "rule", "expected"),
    [
        ({"type": "integer"}, "3", "type", "integer"),
        ({"type": "integer"}, True, "type", "integer"),
        ({"type": "integer"}, 1.5, "type", "integer"),
        ({"type": ["string", "null"]}, 3, "type", "null or string"),
        ({"enum": ["low", "normal", "high"]}, "urgent", "enum", "one of: low, normal, high"),
        ({"enum": [1, None, "a, b", ""]}, 2, "enum", 'one of: 1, null, "a, b", ""'),
        ({"const": {"a": 1}}, 2, "const", '{"a": 1}'),
        ({"minimum": 3}, 2, "minimum", "at least 3"),
        ({"maximum": 3}, 4, "maximum", "at most 3"),
        ({"exclusiveMinimum": 3}, 3, "exclusiveMinimum", "more than 3"),
        ({"exclusiveMaximum": 3}, 3, "exclusiveMaximum", "less than 3"),
        ({"multipleOf": 0.5}, 0.3, "multipleOf", "a multiple of 0.5"),
        ({"minLength": 2}, "a", "minLength", "text of at least 2 characters"),
        ({"maxLength": 2}, "abc", "maxLength", "text of at most 2 characters"),
        ({"pattern": r"^\{[a-z]\}$"}, "A", "pattern", r"text that matches ^\{[a-z]\}$"),
        ({"format": "date"}, "tomorrow", "format", "text in the format date"),
        ({"minItems": 1}, [], "minItems", "a list of at least 1 items"),
        ({"maxItems": 1}, [1, 2], "maxItems", "a list of at most 1 items"),
        ({"uniqueItems": True}, [1, 1], "uniqueItems", "a list whose items all differ"),
        ({"minProperties": 1}, {}, "minProperties", "a mapping of at least 1 fields"),
        ({"maxProperties": 0}, {"a": 1}, "maxProperties", "a mapping of at most 0 fields"),
        ({"not": {"type": "string"}}, "a", "not", "a value that `not` does not describe"),
        ({"contains": {"const": 1}}, [2], "contains", "a list with an item of the kind that `contains` asks for"),
        ({"propertyNames": {"const": "a"}}, {"ab": 1}, "propertyNames", "a mapping with names that are a"),
        ({"anyOf": [{"type": "string"}, {"const": 3}]}, 4, "anyOf", "either string, or 3"),
    ],
)  # fmt: skip
def test_rule_says_what_it_expects(schema: dict[str, Any], value: Any, rule: str, expected: str) -> None:
    """Golden texts: the library's error kinds are no stable interface."""
    assert faults(schema, value) == [("", rule, expected)]


def test_alternatives_name_the_field_that_each_misses() -> None:
    schema = {"oneOf": [{"required": ["a"]}, {"properties": {"z": {"type": "null"}}}]}

    assert faults(schema, {"z": 1}) == [("", "oneOf", "either /a: a value, or /z: null")]


def test_value_that_fits_two_alternatives_is_rejected() -> None:
    ((_, rule, expected),) = faults({"oneOf": [{"minimum": 1}, {"maximum": 9}]}, 2)

    assert (rule, expected) == ("oneOf", "a value that only one of the alternatives describes")


def test_whole_float_is_an_integer() -> None:
    """JSON has one kind of number, and JSON Schema says so too."""
    assert faults({"type": "integer"}, 3.0) == []


def test_paths_are_json_pointers_in_order() -> None:
    schema = {
        "properties": {"a/b": {"items": {"type": "string"}}, "c~d": {"required": ["e"]}},
        "additionalProperties": False,
    }

    found = faults(schema, {"zz": 1, "c~d": {}, "a/b": ["x", 1]})

    assert [path for path, _, _ in found] == ["/a~1b/1", "/c~0d/e", "/zz"]


def test_unknown_field_behind_reference_names_the_known_ones() -> None:
    schema = {
        "$defs": {"p": {"properties": {"x": True}, "additionalProperties": False}},
        "items": {"$ref": "#/$defs/p"},
    }

    assert faults(schema, [{"y": 1}]) == [
        ("/0/y", "additionalProperties", "no field of this name; the fields are: x"),
    ]


def test_long_field_name_is_cut() -> None:
    ((path, _, _),) = faults({"additionalProperties": False}, {"a" * 1000: 1})

    assert len(path) < 100


def test_many_options_are_cut() -> None:
    ((_, _, expected),) = faults({"enum": list(range(100))}, "a")

    assert expected.endswith("18, 19, …")


@pytest.mark.parametrize("value", [math.nan, 2**53, [object()], {1: 2}, "\ud800"])
def test_value_that_is_no_json_fits_no_schema(value: Any) -> None:
    (fault,) = JsonSchema({}).faults(value)

    assert fault.rule == "json"


def test_faults_of_one_value_are_bounded() -> None:
    assert len(faults({"items": {"type": "string"}}, list(range(1000)))) == FIELD_FAULTS_COUNT


def test_large_value_is_rejected_by_its_first_fault() -> None:
    assert faults({"items": {"type": "string"}}, list(range(ALL_FAULTS_BYTES))) == [("/0", "type", "string")]


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(.*a){20}$"])
def test_pattern_runs_in_linear_time(pattern: str) -> None:
    """With a backtracking engine none of these ends."""
    assert faults({"pattern": pattern}, "a" * 10_000 + "b")


@pytest.mark.parametrize(
    ("schema", "place", "says"),
    [
        ({"type": "strin"}, ("type",), "must be one of: array, boolean, integer, null, number, object, string"),
        ({"properties": {"a": {"minimum": "x"}}}, ("properties", "a", "minimum"), "must be number"),
        ({"required": "a"}, ("required",), "must be array"),
        ({"propertees": {"a": True}}, ("propertees",), "did you mean properties?"),
        ({"anyOf": [{"requird": ["a"]}]}, ("anyOf", 0, "requird"), "did you mean required?"),
        ({"items": {"example": 1}}, ("items", "example"), "did you mean examples?"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, ("$schema",), "only draft 2020-12"),
        ({"$ref": "https://example.com/s"}, (), "a reference must lead to a place in the same schema"),
        ({"$ref": "file:///etc/passwd"}, (), "a reference must lead to a place in the same schema"),
        ({"$ref": "#/$defs/none"}, (), "Pointer '/$defs/none' does not exist"),
        ({"format": "dat"}, ("format",), "Unknown format: 'dat'"),
        ({"pattern": "(?=a)b"}, ("pattern",), "without look-around"),
        ({"pattern": "(a{1000}){1000}"}, ("pattern",), "of bounded size"),
    ],
)
def test_schema_with_a_problem_is_told(schema: dict[str, Any], place: tuple[str | int, ...], says: str) -> None:
    ((found, problem),) = schema_problems(schema)

    assert found == place
    assert says in problem


@pytest.mark.parametrize("schema", [{"type": "strin"}, {"$ref": "https://example.com/s"}, {"pattern": "("}])
def test_schema_with_a_problem_does_not_compile(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        JsonSchema(schema)


def test_all_problems_of_a_schema_are_told_at_once() -> None:
    problems = schema_problems({"type": "strin", "minimum": "x", "propertees": {}})

    assert {place for place, _ in problems} == {("type",), ("minimum",), ("propertees",)}


@pytest.mark.parametrize(
    "schema", [{}, {"$schema": DIALECT}, {"x-note": 1}, {"$defs": {"a": {}}, "$ref": "#/$defs/a"}, {"title": "t"}]
)
def test_fit_schema_has_no_problems(schema: dict[str, Any]) -> None:
    assert schema_problems(schema) == []
