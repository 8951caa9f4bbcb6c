"""The registry: what a declaration becomes, and how tools are found and their inputs checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keelbox.egress.secrets_rule import SecretRule
from keelbox.errors import InputError, UsageError
from keelbox.json_schema import JsonSchema
from keelbox.registry import (
    AccessRule,
    Feed,
    Liveness,
    Registry,
    ToolDeclaration,
    check_input,
    input_from_context,
    load_registry,
)

MINIMAL = {"name": "Weather", "type": "script", "entry": "weather.js", "access": "public", "side_effect": "read"}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "priority": {"enum": ["low", "normal", "high"]}},
    "required": ["city"],
    "additionalProperties": False,
}


def load(folder: Path, *tools: dict[str, Any], name: str = "tools.json") -> Registry:
    path = folder / name
    path.write_text(json.dumps({"tools": tools}), encoding="utf-8")
    return load_registry(path)


def declaration(**further: Any) -> ToolDeclaration:
    return ToolDeclaration(
        name="Weather", type="script", entry="weather.js", access="public", side_effect="read", **further
    )


def test_minimal_declaration_gets_defaults(tmp_path: Path) -> None:
    assert load(tmp_path, MINIMAL).tools == {"Weather": declaration()}


def test_yaml_and_json_load_alike(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(
        "tools:\n  - {name: Weather, type: script, entry: weather.js, access: public, side_effect: read}\n"
    )

    assert load_registry(tmp_path / "tools.yaml").tools == load(tmp_path, MINIMAL).tools


def test_every_field_is_held(tmp_path: Path) -> None:
    further: dict[str, Any] = {
        "side_effect": "write",
        "description": "Books a table.",
        "when": "The user wants one.",
        "input": CITY,
        "output": {"type": "object"},
        "answers": "return",
        "access": {"id": "members", "allows": "has(scope.memberId)", "reason": "for members"},
        "capability": "tables.book",
        "hosts": ["api.example.com", "*.example.com"],
        "retries": 2,
        "on_error": "fail",
        "limits": {"wall_s": 10},
        "duration": "long",
        "liveness": {"max_silence_s": 20},
        "secrets": [{"name": "TABLES_KEY", "hosts": ["api.example.com"], "header": "x-key", "fields": ["/key"]}],
        "idempotency_key": "input.city",
        "resource": {"city": "input.city"},
        "cost_estimate": 0.5,
        "feeds": {"block": "tables", "event": "booked"},
        "commit_blocks": ["visits"],
    }

    tool = load(tmp_path, MINIMAL | further).get("Weather")

    assert tool == ToolDeclaration(
        name="Weather",
        type="script",
        entry="weather.js",
        side_effect="write",
        description="Books a table.",
        when="The user wants one.",
        input=JsonSchema(CITY),
        output=JsonSchema({"type": "object"}),
        answers="return",
        access=AccessRule(id="members", allows="has(scope.memberId)", reason="for members"),
        capability="tables.book",
        hosts=("api.example.com", "*.example.com"),
        retries=2,
        on_error="fail",
        limits={"wall_s": 10},
        duration="long",
        liveness=Liveness(max_silence_s=20),
        secrets=(SecretRule(name="TABLES_KEY", hosts=("api.example.com",), header="x-key", fields=("/key",)),),
        idempotency_key="input.city",
        resource={"city": "input.city"},
        cost_estimate=0.5,
        feeds=Feed(block="tables", event="booked"),
        commit_blocks=("visits",),
    )


def test_safe_posts_are_held_for_read_tools(tmp_path: Path) -> None:
    posts = {"hosts": ["api.example.com"], "safe_posts": ["https://api.example.com/graphql"]}

    assert load(tmp_path, MINIMAL | posts).get("Weather").safe_posts == ("https://api.example.com/graphql",)


def test_keen_tools_are_public_write_tools_on_operators_hosts(tmp_path: Path) -> None:
    """The two lines that the platform's own registry has for each tool are enough."""
    weather = {"name": "Current Weather", "type": "script", "entry": "tools/weather.js"}
    answers = {"name": "Multi Answer", "type": "flow", "entry": "MultiAnswer-Start"}

    registry = load(tmp_path, weather, answers, name="keen-tools.json")

    assert list(registry.tools) == ["Current Weather", "Multi Answer"]
    assert registry.get("Current Weather") == ToolDeclaration(
        name="Current Weather",
        type="script",
        entry="tools/weather.js",
        access="public",
        side_effect="write",
        idempotency_key="call.id",
        hosts=None,
    )


@pytest.mark.parametrize("name", ["Current Weather", "search_places.v2", "Търсене на книги", "天気", "Q&A: FAQ"])
def test_names_of_all_languages_are_held_literally(tmp_path: Path, name: str) -> None:
    assert load(tmp_path, MINIMAL | {"name": name}).get(name).name == name


def test_name_in_other_case_is_not_found(tmp_path: Path) -> None:
    registry = load(tmp_path, MINIMAL)

    assert "weather" not in registry.tools
    with pytest.raises(UsageError) as caught:
        registry.get("weather")
    assert caught.value.hint == "did you mean 'Weather'? Names are matched letter by letter"


def test_unknown_name_far_from_all_lists_tools(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, MINIMAL, MINIMAL | {"name": "Books"}).get("zzz")

    assert caught.value.hint == "the tools are: 'Weather', 'Books'"


@pytest.mark.parametrize("value", [{"city": "Sofia"}, {"city": "", "priority": "high"}])
def test_fit_input_passes(value: Any) -> None:
    check_input(declaration(input=JsonSchema(CITY)), value)


def test_input_without_schema_passes() -> None:
    check_input(declaration(), object())


def test_rejected_input_tells_every_field_and_no_value() -> None:
    with pytest.raises(InputError) as caught:
        check_input(declaration(input=JsonSchema(CITY)), {"priority": "hunter2", "town": "hunter3"})

    assert [(fault.path, fault.rule, fault.expected) for fault in caught.value.fields] == [
        ("/city", "required", "a value"),
        ("/priority", "enum", "one of: low, normal, high"),
        ("/town", "additionalProperties", "no field of this name; the fields are: city, priority"),
    ]
    assert caught.value.exit_code == 3
    assert "hunter" not in str(caught.value)


def test_input_error_reads_well() -> None:
    with pytest.raises(InputError) as caught:
        check_input(declaration(input=JsonSchema(CITY)), {"city": 5})

    assert str(caught.value) == (
        "input of 'Weather' does not fit its schema:\n"
        "  /city: expected string\n\n"
        "hint: correct these fields and call again; nothing was run"
    )


def test_context_is_json_for_tool_with_schema() -> None:
    assert input_from_context(declaration(input=JsonSchema(CITY)), '{"city": "Sofia"}') == {"city": "Sofia"}


def test_context_is_text_for_tool_without_schema() -> None:
    assert input_from_context(declaration(), '{"city": "Sofia"}') == '{"city": "Sofia"}'


@pytest.mark.parametrize("text", ["Sofia", '{"city": "Sofia", "city": "Varna"}', "NaN", ""])
def test_context_that_is_no_strict_json_is_rejected(text: str) -> None:
    with pytest.raises(InputError) as caught:
        input_from_context(declaration(input=JsonSchema(CITY)), text)

    assert [(fault.path, fault.rule) for fault in caught.value.fields] == [("", "json")]


def test_import_loads_nothing_heavy() -> None:
    program = "import sys, keelbox.project, keelbox.registry; print('\\n'.join(sys.modules))"
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)

    heavy = {"pydantic", "ruamel.yaml", "jsonschema_rs", "sqlalchemy", "httpcore2", "wasmtime"}
    assert not heavy & set(done.stdout.split())
