"""What pydantic refuses in a file, told with places and in plain words."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from keelbox.errors import ConfigError
from keelbox.yaml_faults import seen, unknown_name
from keelbox.yaml_file import parse_yaml


class Effect(StrEnum):
    READ = "read"
    WRITE = "write"


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Script(Part):
    type: Literal["script"]
    name: str
    hosts: tuple[str, ...] = ()
    effect: Effect = Effect.READ
    wall_s: float = Field(default=1.0, gt=0, le=10)
    tries: int = 0
    safe: bool = False

    @field_validator("name")
    @classmethod
    def check_name(cls, value: str) -> str:
        if value == "system":
            raise ValueError("is reserved")
        return value


class Flow(Part):
    type: Literal["flow"]
    name: str
    file_label: str | None = None


class Project(Part):
    tools: list[Annotated[Script | Flow, Field(discriminator="type")]]
    named: dict[str, Flow] = {}


def refused(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "f").validated(Project)
    return [str(fault) for fault in caught.value.faults]


def test_fit_file_becomes_the_model() -> None:
    document = parse_yaml("tools:\n- {type: script, name: a, hosts: [h], effect: write, wall_s: 3}\n", "f")

    (tool,) = document.validated(Project).tools

    assert tool == Script(type="script", name="a", hosts=("h",), effect=Effect.WRITE, wall_s=3)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("hosts: a", 'hosts: must be a list, got "a"'),
        ("hosts: [a, 3]", "hosts[1]: must be text, got 3"),
        ("effect: send", "effect: must be 'read' or 'write', got \"send\""),
        ("wall_s: lots", 'wall_s: must be a number, got "lots"'),
        ("wall_s: 0", "wall_s: must be more than 0, got 0"),
        ("wall_s: 11", "wall_s: must be at most 10, got 11"),
        ("tries: 1.5", "tries: must be a whole number, got 1.5"),
        ("tries: true", "tries: must be a whole number, got true"),
        ('tries: "1"', 'tries: must be a whole number, got "1"'),
        ("safe: yes", 'safe: must be true or false, got "yes"'),
        ("safe:", "safe: must be true or false, got nothing"),
        ("host: [a]", "host: unknown name; did you mean hosts?"),
        (
            "zzzzz: 1",
            "zzzzz: unknown name; known here: effect, hosts, name, safe, tries, type, wall_s",
        ),
    ],
)
def test_fault_is_told_in_words(field: str, message: str) -> None:
    (fault,) = refused(f"tools:\n- type: script\n  name: a\n  {field}\n")

    assert fault.startswith("f:4:")
    assert fault.partition(": ")[2] == f"tools.a.{message}"


def test_own_rule_keeps_its_words() -> None:
    assert refused("tools: [{type: script, name: system}]\n") == ["f:1:30: tools.system.name: is reserved"]


def test_missing_name_stands_at_its_holder() -> None:
    assert refused("tools:\n- type: script\n") == ["f:2:3: tools[0].name: is missing"]


def test_kind_that_is_unknown_lists_the_kinds() -> None:
    (fault,) = refused("tools: [{type: scrypt, name: a}]\n")

    assert "tools.a: must be of a kind that is known: 'script', 'flow'" in fault


def test_missing_kind_is_asked_for() -> None:
    assert refused("tools: [{name: a}]\n") == ["f:1:9: tools.a: must say of which kind it is: 'type' is missing"]


def test_unknown_name_inside_mapping_of_models() -> None:
    (fault,) = refused("tools: []\nnamed: {x: {type: flow, name: x, file-label: y}}\n")

    assert fault == "f:2:34: named.x.file-label: unknown name; did you mean file_label?"


def test_empty_file_is_refused() -> None:
    assert refused("") == ["f: must be a mapping of names to values, got nothing"]


def test_faults_of_document_and_model_come_together_in_order() -> None:
    faults = refused("zz: 1\ntools:\n- {type: flow, name: *x}\n- {type: flow, name: 3}\nnamed: {}\nnamed: {}\n")

    assert [fault.split(":")[1] for fault in faults] == ["1", "3", "4", "6"]
    assert "alias" in faults[1]


def test_unknown_name_without_neighbour_lists_all() -> None:
    assert unknown_name("q", ["beta", "alpha"]) == "unknown name; known here: alpha, beta"
    assert unknown_name("q", []) == "unknown name"


def test_long_value_is_shown_short() -> None:
    assert len(seen("x" * 1000)) < 70
    assert seen({"a": 1}) == "a mapping"
    assert seen([1]) == "a list"
