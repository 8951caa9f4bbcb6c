"""``keelbox limits``: which limits hold, and where each comes from."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(short_help="Show which limits hold, and where each comes from.")
@click.argument("tool", required=False)
@click.option("--project", type=_FOLDER, metavar="DIR", help="TOOL is the name of a tool of this project.")
@click.option("--limit", metavar="NAME=VALUE", multiple=True, help="As for keelbox run; repeatable.")
@click.option("--limits", type=_FILE, metavar="FILE", help="Take limits from this limits.yaml.")
@click.option("--file", is_flag=True, help="Print Keelbox's own limits.yaml, commented, to start one's own from.")
@click.option("--json", is_flag=True, help="Print one JSON document.")
def command(
    *, tool: str | None, project: Path | None, limit: tuple[str, ...], limits: Path | None, file: bool, json: bool
) -> int:
    """Show the limits of a run of TOOL: a script's path, or with --project the name of a tool.

    Without TOOL: those of a script that nothing declares, under --limits or the project's own limits.yaml.
    """
    if file:
        return _print_file(alone=not (tool or project or limit or limits or json))
    from keelbox.cli.exits import Exit
    from keelbox.cli.json_text import print_document
    from keelbox.cli.target import find_limits
    from keelbox.limits import LIMIT_FACTS

    values, origins = find_limits(tool, project=project, limits_file=limits, options=limit)
    rows = [(name, getattr(values, name), LIMIT_FACTS[name].unit, origins[name]) for name in LIMIT_FACTS]
    if json:
        entries = {name: {"value": value, "unit": unit, "origin": origin} for name, value, unit, origin in rows}
        print_document({"status": "ok", "tool": tool, "limits": entries})
        return Exit.DONE
    width = max(len(name) for name in LIMIT_FACTS)
    for name, value, unit, origin in rows:
        shown = "none" if value is None else f"{value:g}"
        click.echo(f"{name:<{width}}  {shown:>6} {unit:<8} {origin}")
    return Exit.DONE


def _print_file(*, alone: bool) -> int:
    from keelbox._paths import default_limits_path
    from keelbox.cli.exits import Exit

    if not alone:
        raise click.UsageError("--file prints Keelbox's own file and takes nothing else")
    click.echo(default_limits_path().read_text(encoding="utf-8"), nl=False)
    return Exit.DONE
