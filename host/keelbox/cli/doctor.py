"""``keelbox doctor``: whether Keelbox is sound on this machine."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command(short_help="Say whether Keelbox is sound on this machine.")
@click.option("--json", is_flag=True, help="Print one JSON document.")
def command(*, json: bool) -> int:
    """Show versions and caches, and try every wall with a small hostile script.

    Ends with 1 if a wall does not hold here, a version is too old, or others could change the compiled code.
    """
    from keelbox.cli.exits import Exit
    from keelbox.cli.health import examine
    from keelbox.cli.interrupt import run_interruptible
    from keelbox.cli.json_text import print_document

    health = run_interruptible(examine)
    if health is None:
        raise click.Abort
    if json:
        print_document(health.document())
    else:
        health.show()
    return Exit.DONE if health.sound else Exit.FAILED
