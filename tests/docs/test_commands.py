"""Commands that stand in a document exist as they stand there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import click
import pytest
from tests.docs.test_links import PAGES, TOP
from tests.docs.transcripts import Shell, masked

CI = (TOP / ".ci/run").read_text(encoding="utf-8")

_SHOWN = re.compile(r"^```sh\n([^\n]*)\n```\n\n```text\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
_CALL = re.compile(r"\bkeelbox (run|check|limits|doctor)\b([^`\n]*)")


def options_of(command: str) -> set[str]:
    parameters = import_module(f"keelbox.cli.{command}").command.params
    return {name for each in parameters if isinstance(each, click.Option) for name in each.opts} | {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(TOP).as_posix())
def test_options_of_a_command_exist(page: Path) -> None:
    for command, rest in _CALL.findall(page.read_text(encoding="utf-8")):
        assert set(re.findall(r"(?<=\s)--[a-z-]+", rest)) <= options_of(command), rest


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(TOP).as_posix())
def test_variables_of_an_option_exist(page: Path) -> None:
    for name in re.findall(r"KEELBOX_RUN_([A-Z_]+)", page.read_text(encoding="utf-8")):
        assert f"--{name.lower().replace('_', '-')}" in options_of("run")


@pytest.fixture
def shown() -> list[tuple[str, str]]:
    """The README's two commands, each with what it prints."""
    return _SHOWN.findall((TOP / "README.md").read_text(encoding="utf-8"))


def test_first_command_of_the_readme_prints_what_it_shows(shown: list[tuple[str, str]], tmp_path: Path) -> None:
    command, output = shown[0]
    *set_up, main = command.split(" && ")
    shell = Shell(TOP, bin_folder=tmp_path / "bin", replace={".venv/bin/": ""})
    printed = shell.run(main)
    shell.close()

    assert set_up == ["python3 -m venv .venv", ".venv/bin/pip install -q -e ."]
    assert masked(printed) == masked(output)


def test_second_command_of_the_readme_is_that_of_the_gate(shown: list[tuple[str, str]]) -> None:
    install, test = shown[1][0].split(" && ")

    assert "\n" + test.replace(".venv", '"$venv"') + " " in CI
    assert install.endswith(" -e '.[dev]'")
    assert " -e '.[dev]'\n" in CI


def test_second_command_of_the_readme_shows_that_all_passed(shown: list[tuple[str, str]]) -> None:
    last = shown[1][1].splitlines()[-1]

    assert re.fullmatch(r"\d+ passed(, \d+ (skipped|xfailed))* in [\d.]+s( \(\d+:\d\d:\d\d\))?", last)
