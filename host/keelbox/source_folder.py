"""Reads script sources out of one folder, and out of nowhere else.

A module name comes from a script, so it is untrusted. Two checks, one after the other: the name must be a plain
relative path; and the file that it leads to, through whatever symlinks, must lie inside the folder. The file is then
opened part by part without following symlinks, so that what was checked is what is read, even if the folder changes
in between.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from keelbox.errors import UsageError
from keelbox_sandbox.contract import KIB, Limits

__all__ = ["SourceFolder", "module_name_problem"]

_NEVER_MODULES = frozenset({".yaml", ".yml"})
"""A project's own files. ``secrets.yaml`` is even valid JavaScript, and would be read into the guest's memory."""

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})


def module_name_problem(name: str) -> str | None:
    """Say why a name is no plain relative path with forward slashes; None if it is one."""
    if "\\" in name:
        return "has a backslash; write /"
    if not name.isprintable():
        return "has a character that cannot be printed"
    if ":" in name:
        return "has a colon"
    if name.startswith("/"):
        return "is an absolute path"
    parts = name.split("/")
    if ".." in parts:
        return "leaves the folder with .."
    if "" in parts or "." in parts:
        return "has an empty part or a dot alone"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFolder:
    """One folder of script sources.

    Raises:
        UsageError: it is no folder.
    """

    root: Path
    source_kib: float = Limits().source_kib
    """Largest file that is read."""
    _resolved: Path = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Resolve the folder itself once: it may be reached through symlinks."""
        try:
            resolved = self.root.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise UsageError(f"folder {self.root} cannot be opened: {_reason(error)}") from None
        if not resolved.is_dir():
            raise UsageError(f"{self.root} is not a folder")
        object.__setattr__(self, "_resolved", resolved)

    def read(self, name: str) -> str | None:
        """Read a module's source as text, without its byte order mark. Blocks.

        Args:
            name: a relative path with forward slashes (``lib/units.js``), taken literally: nothing is decoded or added.

        Returns:
            The source; None if there is no such file.

        Raises:
            UsageError: the name or the file leaves the folder; or the file is not regular, is too large, is not UTF-8,
                or cannot be read.
        """
        if problem := module_name_problem(name):
            raise UsageError(
                f"module {name[:200]!r} {problem}", hint="import your own files by relative paths, as ./lib/x.js"
            )
        try:
            target = self._resolved.joinpath(name).resolve(strict=True)
            if not target.is_relative_to(self._resolved):
                raise UsageError(
                    f"module {name!r} is a symlink, or below one, that leaves the folder {self.root}",
                    hint="copy the file into the folder",
                )
            if target.suffix.lower() in _NEVER_MODULES:
                raise UsageError(
                    f"module {name!r} is a YAML file, which a script never reads", hint="write its data as a .js module"
                )
            data = self._read(target, name)
        except (OSError, RuntimeError) as error:
            if isinstance(error, OSError) and error.errno in _ABSENT:
                return None
            raise UsageError(f"module {name!r} cannot be read: {_reason(error)}") from None
        return _text(data, name)

    def _read(self, target: Path, name: str) -> bytes:
        descriptor = self._open(target)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                kind = "a folder" if stat.S_ISDIR(mode) else "a pipe, device or socket"
                raise UsageError(f"module {name!r} is {kind}, not a file")
            bytes_max = int(self.source_kib * KIB)
            with os.fdopen(descriptor, "rb", closefd=False) as stream:
                data = stream.read(bytes_max + 1)
        finally:
            os.close(descriptor)
        if len(data) > bytes_max:
            raise UsageError(
                f"module {name!r} is larger than source_kib allows ({self.source_kib:g} KiB)",
                hint="split data from code, or raise source_kib in limits.yaml",
            )
        return data

    def _open(self, target: Path) -> int:
        """Open a resolved path from the root down; a symlink that has appeared on the way since is refused."""
        # O_NONBLOCK: opening a pipe must not wait for its writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        *folders, last = target.relative_to(self._resolved).parts or (".",)
        held = os.open(self._resolved, flags | os.O_DIRECTORY)
        try:
            for folder in folders:
                inner = os.open(folder, flags | os.O_DIRECTORY, dir_fd=held)
                os.close(held)
                held = inner
            return os.open(last, flags, dir_fd=held)
        finally:
            os.close(held)


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"module {name!r} is not UTF-8: byte {data[error.start]:#04x} in line {line}") from None


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "it leads back to itself through symlinks"
