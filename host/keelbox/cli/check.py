"""``keelbox check``: what can be known of scripts and registries without running a tool."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]


@click.command(short_help="Check scripts and registries without running a tool.")
@click.argument("path", required=False, default=".", type=click.Path(path_type=Path))
@click.option("--json", is_flag=True, help="Print one JSON document.")
def command(*, path: Path, json: bool) -> int:
    """Check PATH: a script, a project, or a folder of scripts. The present folder by default.

    Every script is parsed behind the wall; its imports must exist, and a tool's entry must export exec. In a project
    the registry and limits must be right too. Hints point at what will probably not work; they fail nothing.
    """
    from keelbox.cli.check_scripts import check_path
    from keelbox.cli.exits import Exit
    from keelbox.cli.interrupt import run_interruptible
    from keelbox.cli.json_text import print_document
    from keelbox.cli.text import Screen, printable

    report = run_interruptible(lambda: check_path(path))
    if report is None:
        raise click.Abort
    if json:
        print_document(report.document())
    else:
        screen = Screen(data=True)
        for finding in report.findings:
            label = screen.style(finding.severity, "red" if finding.severity == "error" else "yellow")
            screen.say(f"{printable(finding.place)}: {label}: {printable(finding.message)}")
            if finding.hint:
                screen.say(f"    {printable(finding.hint)}")
        Screen().say(report.summary())
    return Exit.FAILED if report.failed else Exit.DONE
