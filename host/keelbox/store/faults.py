"""Database errors become `StoreError`: what was being done, where, why not, and the next step."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from keelbox.errors import StoreError

__all__ = ["sqlite_code", "store_error", "telling"]

_PRIMARY_CODE_MASK = 0xFF
"""An extended SQLite result code holds the primary one in its low byte (sqlite.org/rescode.html)."""

_NO_ACCESS = ("no permission to read and write it", "let this user read and write the file and its folder")
_UNKNOWN = ("the database refused", "the text in brackets is the database's own; nothing was written")
_CAUSES = {
    sqlite3.SQLITE_NOTADB: (
        "it is not a SQLite database",
        "give the path of a Keelbox store, or of a file that is not there yet",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "it cannot be opened",
        "check that the folder is there, and that this user may create and write files in it",
    ),
    sqlite3.SQLITE_READONLY: _NO_ACCESS,
    sqlite3.SQLITE_PERM: _NO_ACCESS,
    sqlite3.SQLITE_FULL: ("the disk is full", "free some space, then try again; nothing was written"),
    sqlite3.SQLITE_IOERR: (
        "the disk refused a read or a write",
        "check the free space, the file size limit (ulimit -f) and the health of the disk; nothing was written",
    ),
    sqlite3.SQLITE_BUSY: (
        "another process held it locked for too long",
        "find the process that keeps a transaction open (fuser FILE), then try again; nothing was written",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "the file is damaged",
        "restore it from a backup, or save what is left: sqlite3 FILE .recover",
    ),
}


@contextmanager
def telling(action: str, name: str) -> Generator[None]:
    """Turn what the database raises inside the block into a `StoreError`.

    Args:
        action: what is being done, as a verb with its object.
        name: which store.
    """
    try:
        yield
    except DBAPIError as error:
        raise store_error(action, name, error.orig or error) from error
    except (sqlite3.Error, PoolTimeoutError, OSError) as error:
        raise store_error(action, name, error) from error


def store_error(action: str, name: str, error: BaseException) -> StoreError:
    """Say why the store could not do something."""
    if isinstance(error, PermissionError):
        cause, hint = _NO_ACCESS
    elif isinstance(error, OSError):
        cause, hint = _CAUSES[sqlite3.SQLITE_CANTOPEN]
    else:
        cause, hint = _CAUSES.get(sqlite_code(error), _UNKNOWN)
    return StoreError(f"cannot {action} in the conversation store {name}: {cause} ({error})", hint=hint)


def sqlite_code(error: BaseException) -> int:
    """Find the primary result code of a SQLite error; 0 for any other error."""
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE_MASK
