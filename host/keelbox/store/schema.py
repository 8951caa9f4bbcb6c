"""The tables, for every database.

A change of this file is a new revision: a new `SCHEMA_VERSION`, and a migration that leads there. The version is kept
in the form that Alembic keeps it in (a table of one row and one column, which it is told by ``version_table``), so that
a store of today is already stamped.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, Text, UniqueConstraint

__all__ = ["SCHEMA_VERSION", "commits", "messages", "metadata", "schema_version", "sessions"]

SCHEMA_VERSION = "0001"
"""The revision that this code reads and writes."""

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "uq": "uq_%(table_name)s_%(column_0_N_name)s"}
)

_Sequence = BigInteger().with_variant(Integer, "sqlite")

schema_version = Table("schema_version", metadata, Column("version_num", String(32), primary_key=True))

messages = Table(
    "messages",
    metadata,
    # The order of a conversation. Never reused, so that a page's edge stays where it is.
    Column("seq", _Sequence, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("agent_id", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("run_id", Text),
    # Sizes are summed before contents are read, and stand before them: SQLite reads a row from its start.
    Column("bytes_count", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
    UniqueConstraint("agent_id", "session_id", "request_id"),
    Index(None, "agent_id", "session_id", "seq"),
    sqlite_autoincrement=True,
)

commits = Table(
    "commits",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("created_at", Text, nullable=False),
)
"""Every run that has committed something: what makes a replay a replay."""

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", Text, primary_key=True),
    # Goes on counting when the data expires: a run that loaded version 5 must not meet another version 5.
    Column("version", BigInteger, nullable=False),
    Column("expires_at", Text, index=True),
    Column("data", Text),
)
"""Session data as JSON; ``data`` and ``expires_at`` are NULL once it has expired and been wiped."""
