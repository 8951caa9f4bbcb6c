"""``keelbox run``: run one script or tool once."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

__all__ = ["command"]

# Parameters are named after their options, because the names of the environment variables are made from them.

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)

_OPENING = ("allow_host", "allow_loopback", "route", "limit", "limits")
"""Options that let a script do more. From the environment they come unseen, so they are told."""


@click.command(short_help="Run a script or a tool once, behind the wall.")
@click.argument("target")
@click.option("--project", type=_FOLDER, metavar="DIR", help="TARGET is the name of a tool of this project.")
@click.option("--input", metavar="JSON", help="First argument of exec; - reads stdin.")
@click.option("--context", metavar="TEXT", help="What a model writes after !*context; - reads stdin.")
@click.option("--ambient", metavar="JSON", help="Second argument of exec: an object.")
@click.option("--agent", metavar="ID", default="main", show_default=True, help="Who calls the tool.")
@click.option("--session", metavar="ID", help="The caller's session; a fresh one by default.")
@click.option("--allow-host", metavar="HOST", multiple=True, help="Host that requests may reach; repeatable.")
@click.option("--allow-loopback", is_flag=True, help="Let requests reach this machine; for local testing only.")
@click.option(
    "--route",
    metavar="HOST=URL",
    multiple=True,
    help="Send requests for an allowed HOST to a loopback URL; needs --allow-loopback; repeatable.",
)
@click.option("--limit", metavar="NAME=VALUE", multiple=True, help="Set a limit of this run; repeatable.")
@click.option("--limits", type=_FILE, metavar="FILE", help="Take limits from this limits.yaml.")
@click.option("--secrets", type=_FILE, metavar="FILE", help="Take secrets from this file; secrets.yaml by default.")
@click.option("--store", type=_FILE, metavar="FILE", help="Conversation in this SQLite file; in memory by default.")
@click.option("--record", type=_FILE, metavar="FILE", help="Write the requests and their answers to this cassette.")
@click.option("--replay", type=_FILE, metavar="FILE", help="Answer the requests from this cassette, with no network.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing. Requests are sent.")
@click.option("--json", is_flag=True, help="Print one JSON document.")
def command(
    *,
    target: str,
    project: Path | None,
    input: str | None,
    context: str | None,
    ambient: str | None,
    agent: str,
    session: str | None,
    allow_host: tuple[str, ...],
    allow_loopback: bool,
    route: tuple[str, ...],
    limit: tuple[str, ...],
    limits: Path | None,
    secrets: Path | None,
    store: Path | None,
    record: Path | None,
    replay: Path | None,
    dry_run: bool,
    json: bool,
) -> int:
    """Run TARGET once: the path of a script, or with --project the name of a tool.

    A script whose folder has a tools.yaml that declares it runs with the hosts, limits and input schema declared there.

    The result goes to stdout as JSON; messages, log lines and the certificate go to stderr.
    """
    from keelbox.cli.call_input import read_ambient, read_input
    from keelbox.cli.run_once import RunPlan, run_once
    from keelbox.cli.secrets import open_secrets
    from keelbox.cli.tape import open_tape
    from keelbox.cli.target import find_target
    from keelbox.egress.policy import EgressPolicy

    _tell_of_environment(click.get_current_context())
    found = find_target(target, project=project, limits_file=limits)
    call_input, context_text = read_input(found.declaration, input_text=input, context_text=context)
    plan = RunPlan(
        target=found,
        call_input=call_input,
        context_text=context_text,
        ambient=read_ambient(ambient),
        agent_id=agent,
        session_id=session,
        limits=found.effective_limits(limit)[0],
        egress=EgressPolicy(
            hosts=(*found.hosts, *allow_host),
            any_public=found.any_public or "*" in allow_host,
            allow_loopback=allow_loopback,
            routes=dict(map(_parse_route, route)),
            operator=found.limits.egress,
        ),
        secrets=open_secrets(found, secrets, replay=replay is not None),
        store=store,
        dry_run=dry_run,
        tape=open_tape(record=record, replay=replay),
    )
    return run_once(plan, as_json=json)


def _tell_of_environment(context: click.Context) -> None:
    from keelbox.cli.tape import say_note
    from keelbox.cli.text import Screen

    names = [
        name
        for name in _OPENING
        if context.params[name] and context.get_parameter_source(name) is ParameterSource.ENVIRONMENT
    ]
    if names:
        variables = ", ".join(f"{context.auto_envvar_prefix}_{name.upper()}" for name in names)
        say_note(Screen(), f"set by the environment: {variables}")


def _parse_route(text: str) -> tuple[str, str]:
    host, sign, url = text.partition("=")
    if not sign:
        raise click.BadParameter(f"{text!r} is not HOST=URL", param_hint="--route")
    return host, url
