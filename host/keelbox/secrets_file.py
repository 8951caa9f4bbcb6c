"""Secrets in a file: ``secrets.yaml``, a mapping of names to values that nobody but its owner may read.

No message of this module holds a value, or any other piece of the file: where something is wrong with it, only the
place is told.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Final, cast

from keelbox.egress.secrets_rule import SECRET_NAME
from keelbox.errors import ConfigError, Fault, UsageError

__all__ = ["SECRETS_FILE_NAME", "FileSecrets"]

SECRETS_FILE_NAME: Final = "secrets.yaml"

_FILE_BYTES_MAX: Final = 256 * 1024
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class FileSecrets:
    """Values in a file. It is read when the first one is asked for, and then not again.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values: dict[str, str] | None = None

    def get(self, name: str) -> str | None:
        """Get a value; see `keelbox.egress.secrets_source.SecretSource.get`.

        Raises:
            UsageError: the file cannot be read, belongs to somebody else, or others may read or write it.
            ConfigError: it is not a mapping of names to texts.
        """
        if self._values is None:
            self._values = _parse(self._path, _read(self._path))
        return self._values.get(name)


def _read(path: Path) -> bytes:
    try:
        # Not blocking: who put a pipe in the file's place must not hang the host.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise UsageError(f"secrets file {path} cannot be read: {error.strerror}") from None
    with open(descriptor, "rb") as stream:  # noqa: PTH123 (a descriptor, so that what is checked is what is read)
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise UsageError(f"secrets file {path} is not a file")
        if about.st_uid != os.geteuid():
            raise UsageError(
                f"secrets file {path} belongs to user {about.st_uid}, and this is user {os.geteuid()}: it is not read",
                hint=f"run: sudo chown {os.geteuid()} {path}",
            )
        if about.st_mode & _OTHERS:
            mode = stat.S_IMODE(about.st_mode)
            raise UsageError(
                f"secrets file {path} has mode {mode:04o}, so that others have access to it: it is not read",
                hint=f"run: chmod 600 {path}",
            )
        data = stream.read(_FILE_BYTES_MAX + 1)
    if len(data) > _FILE_BYTES_MAX:
        raise UsageError(f"secrets file {path} is larger than {_FILE_BYTES_MAX} bytes")
    return data


def _parse(path: Path, data: bytes) -> dict[str, str]:
    from keelbox.yaml_file import parse_yaml

    try:
        document = parse_yaml(data.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError:
        raise ConfigError([_fault(path, 0, 0, "is not UTF-8")]) from None
    except ConfigError as error:
        # The parser's own words may quote the file.
        places = [(fault.line, fault.column) for fault in error.faults]
        raise ConfigError([_fault(path, *place, "is not YAML from here on") for place in places]) from None
    faults = [_fault(path, each.line, each.column, _PLAIN) for each in document.faults]
    told = {fault.line for fault in faults}
    held: Any = {} if document.data is None else document.data
    if not isinstance(held, dict):
        faults.append(_fault(path, 1, 1, f"is not a mapping; {_FORM}"))
        held = {}
    values = cast("dict[str, str]", held)
    for name, value in values.items():
        problem = None if isinstance(cast("Any", value), str) and value else _PLAIN
        if not SECRET_NAME.fullmatch(name):
            problem = f"is no secret's name (capital letters, digits and _); {_FORM}"
        if problem is not None and document.line((name,)) not in told:
            place = document.fault((name,), "", at="key")
            faults.append(_fault(path, place.line, place.column, problem))
    if faults:
        raise ConfigError(sorted(faults, key=lambda fault: (fault.line, fault.column)))
    return values


_FORM: Final = 'write one secret a line, as in WEATHER_KEY: "…"'
_PLAIN: Final = "is not a plain text in quotes, or is given twice"


def _fault(path: Path, line: int, column: int, message: str) -> Fault:
    return Fault(file=str(path), line=line, column=column, path="", message=message)
