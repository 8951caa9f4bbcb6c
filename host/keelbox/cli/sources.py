"""The sources of a script as the command line reads them, and remembers them for quoting."""

from __future__ import annotations

from pathlib import Path

from keelbox.errors import UsageError
from keelbox.source_folder import SourceFolder
from keelbox_sandbox.contract import FailureCode, Limits, ScriptError

__all__ = ["Sources"]


class Sources:
    """Reads modules for `Sandbox.gather`.

    Args:
        folder: where the modules are.
        limits: ``source_kib`` holds for each file.

    Attributes:
        texts: what was read, by module name.
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.texts: dict[str, str] = {}
        self._folder = SourceFolder(root=folder, source_kib=limits.source_kib)
        self._missing: str | None = None

    def read(self, name: str) -> str | None:
        """Read one module; None if there is no such file.

        Raises:
            ScriptError: the file cannot be a module.
        """
        try:
            text = self._folder.read(name)
        except UsageError as error:
            raise ScriptError(FailureCode.LOAD_FAILED, error.message, hint=error.hint) from None
        if text is None:
            self._missing = name
        else:
            self.texts[name] = text
        return text

    def place(self, error: ScriptError) -> tuple[str, int, int] | None:
        """Say where a script fails to load; for a missing module, at the first import that asks for it."""
        if self._missing is None:
            return error.location
        from keelbox.checks import find_import

        for importer, text in self.texts.items():
            if found := find_import(importer, text, self._missing):
                return (importer, *found)
        return error.location
