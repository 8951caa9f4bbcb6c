"""docs/reference/codes.md has every code that a run or a request can end with, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from keelbox.cli.exits import exit_of
from keelbox.egress.faults import EgressCode
from keelbox.runner import not_started
from keelbox_sandbox.contract import FailureCode

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs/reference/codes.md").read_text(encoding="utf-8")
TYPES = (TOP / "stdlib/js/system.d.ts").read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, list[str]]:
    """The cells of a section's table by code."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [re.split(r" *\| *", line.strip("| ")) for line in section.splitlines() if line.startswith("| `")]
    return {cells[0].strip("`"): cells[1:] for cells in lines}


def codes_of_type(name: str) -> set[str]:
    (union,) = re.findall(rf"export type {name} =\n(.*?)';$", TYPES, re.DOTALL | re.MULTILINE)
    return set(re.findall(r"\| '([a-z-]+)", union))


def test_failure_codes_are_those_of_the_contract() -> None:
    assert list(rows("Failure codes of a run")) == list(FailureCode)


@pytest.mark.parametrize("code", FailureCode)
def test_exit_code_is_that_of_the_program(code: FailureCode) -> None:
    assert int(rows("Failure codes of a run")[code][-1]) == exit_of(not_started(code, "any"))


def test_request_codes_are_those_that_scripts_are_promised() -> None:
    assert set(rows("Codes of a request")) == codes_of_type("HttpErrorCode") >= set(EgressCode)


def test_conversation_codes_are_those_that_scripts_are_promised() -> None:
    assert set(rows("Codes of the conversation")) == codes_of_type("AgentErrorCode")


@pytest.mark.parametrize("heading", ["Failure codes of a run", "Codes of a request"])
def test_every_code_has_a_cause_and_a_remedy(heading: str) -> None:
    assert all(len(cause) > 20 and len(remedy) > 10 for cause, remedy, _ in rows(heading).values())
