"""A conversation store in one SQLite file, for several processes at once."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, select

from keelbox.errors import StoreError
from keelbox.store.database import READERS_COUNT, WRITE_OPTION, DatabaseConversation
from keelbox.store.faults import sqlite_code, telling
from keelbox.store.records import Clock
from keelbox.store.schema import SCHEMA_VERSION, metadata, schema_version

__all__ = ["BUSY_TIMEOUT_S", "open_sqlite"]

BUSY_TIMEOUT_S = 5.0
"""How long a transaction waits for another process's. Ours take milliseconds; a waiting commit cannot be cancelled."""

_WRITERS_COUNT = 1
"""SQLite has one writer at a time; a second one would poll for the lock instead of waiting in line for it."""

_RETRY_S = 0.005


def open_sqlite(
    path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S, now: Clock | None = None
) -> DatabaseConversation:
    """Open a store, and make it if it is not there. Blocks.

    Args:
        path: the file; it is made readable by its owner only, and its folder with it.
        busy_timeout_s: how long one call waits while another process writes.
        now: the clock.

    Raises:
        StoreError: the file cannot be used, is something else, or was made by a newer Keelbox.
    """
    name = str(path)
    with telling("make a file", name):
        _make_private(path)
    engine = _new_engine(path, busy_timeout_s)
    try:
        with telling("open the database", name):
            _set_up_schema(engine, name)
            _switch_to_wal(engine, name, time.monotonic() + busy_timeout_s)
    except BaseException:
        engine.dispose()
        raise
    return DatabaseConversation(engine, name=name, writers_count=_WRITERS_COUNT, now=now)


def _make_private(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # Not open(): closing any handle of the file would drop the locks that SQLite holds on it in this process.
        os.mknod(path, stat.S_IFREG | 0o600)
    except FileExistsError:
        return


def _new_engine(path: Path, busy_timeout_s: float) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        # `isolation_level` None: the driver begins nothing by itself, the hook below does.
        connect_args={"timeout": busy_timeout_s, "isolation_level": None, "check_same_thread": False},
        pool_size=READERS_COUNT + _WRITERS_COUNT,
        max_overflow=0,
    )

    def set_up(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA synchronous = FULL")

    def begin(connection: Connection) -> None:
        # A writer that began as a reader cannot wait for its turn: SQLite would fail it at once as busy.
        writes = connection.get_execution_options().get(WRITE_OPTION)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", set_up)
    event.listen(engine, "begin", begin)
    return engine


def _switch_to_wal(engine: Engine, name: str, deadline: float) -> None:
    """Let readers go on while one writes. The mode stays with the file, so this is a look in all but the first open."""
    connection = engine.raw_connection()
    try:
        while True:
            try:
                (mode,) = connection.cursor().execute("PRAGMA journal_mode = WAL").fetchone()
                break
            except sqlite3.OperationalError as error:
                # Two that switch at once fail without waiting, whatever the time-out: SQLite sees a deadlock in it.
                if sqlite_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise
                time.sleep(_RETRY_S)
    finally:
        connection.close()
    if mode != "wal":
        raise StoreError(
            f"cannot open the conversation store {name}: its file system has no shared memory for write-ahead logging",
            hint="put the store on a local disk",
        )


def _set_up_schema(engine: Engine, name: str) -> None:
    with engine.begin() as connection:
        if _has_schema(connection, name):
            return
    with engine.execution_options(**{WRITE_OPTION: True}).begin() as connection:
        # Looked at again: another process may have been first.
        if not _has_schema(connection, name):
            metadata.create_all(connection)
            connection.execute(insert(schema_version), {"version_num": SCHEMA_VERSION})


def _has_schema(connection: Connection, name: str) -> bool:
    """Tell a store from an empty file; refuse everything else, untouched."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return False
    if schema_version.name not in tables:
        raise StoreError(
            f"cannot open the conversation store {name}: it is a database of something else (it has no table "
            f"{schema_version.name})",
            hint="give the path of a Keelbox store, or of a file that is not there yet",
        )
    found = connection.execute(select(schema_version.c.version_num)).scalars().all()
    if list(found) != [SCHEMA_VERSION]:
        raise StoreError(
            f"cannot open the conversation store {name}: its schema is {', '.join(found) or 'unknown'}, and this "
            f"Keelbox knows {SCHEMA_VERSION}",
            hint="it was made by a newer Keelbox: upgrade this one, or use another store",
        )
    return True
