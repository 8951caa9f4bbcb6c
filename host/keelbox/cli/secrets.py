"""The secrets of a tool that is run or checked from the command line: the environment first, then a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from keelbox.errors import UsageError

if TYPE_CHECKING:
    from keelbox.cli.target import Target
    from keelbox.egress.secrets import RunSecrets
    from keelbox.egress.secrets_source import SecretSource

__all__ = ["open_secrets", "secret_source"]

_ENDINGS = (".yaml", ".yml")
"""No script can import a file that ends so (`keelbox.source_folder`)."""


def secret_source(folder: Path, file: Path | None = None) -> SecretSource:
    """Get where values come from.

    Args:
        folder: the project, whose ``secrets.yaml`` is read if it has one.
        file: read instead of that.

    Raises:
        UsageError: the file's name is not a YAML file's.
    """
    from keelbox.egress.secrets_source import EnvironmentSecrets, FirstOf
    from keelbox.secrets_file import SECRETS_FILE_NAME, FileSecrets

    if file is not None and file.suffix.lower() not in _ENDINGS:
        raise UsageError(
            f"secrets file {file} must end in .yaml", hint="a file with another ending could be imported by a script"
        )
    path = file or folder / SECRETS_FILE_NAME
    if file is None and not path.exists():
        return EnvironmentSecrets()
    return FirstOf(EnvironmentSecrets(), FileSecrets(path))


def open_secrets(target: Target, file: Path | None, *, replay: bool) -> RunSecrets | None:
    """Get the secrets of one run; None if its tool declares none. Blocks.

    Args:
        target: what is run.
        file: ``--secrets``.
        replay: whether nothing is sent: then no value is needed, and none is read.

    Raises:
        UsageError: a value or the file cannot be used.
        ConfigError: the file has faults.
    """
    rules = target.declaration.secrets if target.declaration is not None else ()
    if not rules:
        if file is not None:
            raise UsageError(
                f"{target.name} declares no secrets, so that --secrets would do nothing",
                hint="declare them under secrets: in tools.yaml",
            )
        return None
    from keelbox.egress.secrets import RunSecrets
    from keelbox.egress.secrets_source import load_secrets

    return RunSecrets(rules, {}) if replay else load_secrets(rules, secret_source(target.folder, file))
