"""docs/reference/cli.md and the program say the same."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import click
import pytest

from keelbox.cli.as_json import run_document
from keelbox.cli.exits import Exit
from keelbox.outcome import Certificate, Effects, Fate, Message, OpRecord, RunOutcome, WriteRecord
from keelbox_sandbox.contract import LogLine

PAGE = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## keelbox (\w+)[^\n]*\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))

each_command = pytest.mark.parametrize("name", ["run", "check", "limits", "doctor"])


def options(name: str) -> set[str]:
    command: click.Command = import_module(f"keelbox.cli.{name}").command
    return {each.opts[0] for each in command.params if isinstance(each, click.Option)}


def test_every_command_has_a_section() -> None:
    group = import_module("keelbox.cli")
    assert set(SECTIONS) == {"run", "check", "limits", "doctor"} == set(group._COMMANDS)


@each_command
def test_every_option_is_in_its_table(name: str) -> None:
    assert set(re.findall(r"^\| `(--[\w-]+)", SECTIONS[name], re.MULTILINE)) == options(name)


@each_command
def test_every_option_is_named_as_its_variable(name: str) -> None:
    """The variable is made from the parameter's name, so that must be the option's."""
    command: click.Command = import_module(f"keelbox.cli.{name}").command
    for each in command.params:
        if isinstance(each, click.Option):
            assert each.opts == [f"--{(each.name or '').replace('_', '-')}"]


def test_exit_codes_are_those_of_the_program() -> None:
    table = PAGE[PAGE.index("## Exit codes") : PAGE.index("## keelbox run")]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == set(Exit)


def test_effects_and_fates_are_those_of_the_certificate() -> None:
    assert set(re.findall(r"^\| `(committed|none|sent|unknown)` \|", PAGE, re.MULTILINE)) == set(Effects)
    assert all(f"`{fate}`" in PAGE for fate in Fate)


def shape(text: str) -> list[list[str]]:
    """The keys of each object in a JSON text, the inner ones first."""
    found: list[list[str]] = []
    json.loads(text, object_pairs_hook=lambda pairs: found.append([key for key, _ in pairs]))
    return found


def test_document_has_the_shape_of_the_example() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    op = OpRecord(kind="http", method="GET", url="https://x.example/", fate=Fate.ANSWERED)
    write = WriteRecord(agent_id="main", session_id="s", request_id="r", bytes_count=1, committed=True)
    message = Message(
        id="m", agent_id="main", session_id="s", request_id="r", role="user", content="x", created_at="", run_id="r"
    )
    certificate = Certificate(run_id="r", effects=Effects.COMMITTED, ops=(op,), writes=(write,), logs_count={"info": 1})
    outcome = RunOutcome(
        code=None,
        message=None,
        hint=None,
        stack=None,
        location=None,
        result={"done": True},
        messages=(message,),
        logs=(LogLine(level="info", text="x"),),
        certificate=certificate,
    )
    assert shape(json.dumps(run_document(outcome, dry_run=False))) == shape(example)
