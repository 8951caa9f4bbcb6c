"""The ``keelbox`` command. stdout is data, stderr is talk; each command is imported when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

__all__ = ["main"]

_COMMANDS = ("run", "check", "limits", "doctor")
_PREFIX = "KEELBOX"


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"keelbox.cli.{cmd_name}").command
        return command


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        from keelbox.cli.versions import keelbox_version

        click.echo(f"keelbox {keelbox_version()}")
        ctx.exit()


@click.group(
    cls=_Commands,
    context_settings={"auto_envvar_prefix": _PREFIX, "help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every option has a variable in the environment: KEELBOX_RUN_ALLOW_HOST is run --allow-host. "
    "Exit codes: 0 done, 1 the tool failed, 2 misuse or bad configuration, 3 input rejected by its schema, "
    "5 a limit was hit, 6 outcome unknown, 130 interrupted.",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show it.")
def _keelbox() -> None:
    """Run the tool scripts of language-model agents behind a wall."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: without the program's name; those of this process by default.

    Returns:
        The exit code (docs/reference/cli.md).
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _keelbox.main(given, prog_name="keelbox", standalone_mode=False)
    except Exception as error:
        from keelbox.cli.failure import report

        return report(error, as_json=_wants_json(given))
    return code if isinstance(code, int) else 0


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether the answer must be JSON also where the options could not be read."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    command = next((argument for argument in options if argument in _COMMANDS), "")
    variable = os.environ.get(f"{_PREFIX}_{command.upper()}_JSON", "")
    return "--json" in options or variable.lower() in ("1", "true", "yes", "on", "t", "y")
