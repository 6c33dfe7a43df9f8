"""All rows of one database into another, an empty one: what a backup is made of, also from one engine to the other."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Table, delete, func, insert, select, text

from app.errors import NotEmpty, StoreUnavailable
from app.store.database import Database
from app.store.tables import OF_ITS_PLACE, change_counts, collection, metadata

__all__ = ["check_empty", "copy_rows", "seal"]

_SEALING = ("journal_mode = DELETE", "quick_check")
_ROWS_AT_ONCE = 500  # 1.3 MB of features at D = 1280
_TABLES = [table for table in metadata.sorted_tables if OF_ITS_PLACE not in table.info]
_REPLACED = (collection, change_counts)  # what they say of a target without content is no content


def copy_rows(source: Database, target: Database) -> None:
    """Copy one state of the source, in one transaction: the target has all of it or nothing.

    Which backbone the target's features come from does not count as content while it has none, nor what once changed.
    Raises: NotEmpty, StoreUnavailable.
    """
    with source.reading() as reading, target.writing() as writing:
        _check_empty(writing)
        for table in _REPLACED:
            writing.execute(delete(table))
        for table in _TABLES:
            rows = reading.execution_options(yield_per=_ROWS_AT_ONCE).execute(select(table))
            for block in rows.mappings().partitions():
                writing.execute(insert(table), [dict(row) for row in block])
        if not target.is_sqlite:
            _advance_sequences(writing, _TABLES)


def check_empty(target: Database) -> None:
    """Ask first what `copy_rows` asks at its end. Raises: NotEmpty, StoreUnavailable."""
    with target.reading() as reading:
        _check_empty(reading)


def seal(file: Path) -> None:
    """Make a closed SQLite database one file that is whole by itself. Raises: StoreUnavailable.

    A database in WAL mode may have its newest rows beside it, and closing it says nothing if they could not be moved.
    """
    try:
        with closing(sqlite3.connect(file)) as database:
            answers = [database.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in _SEALING]
    except sqlite3.Error as error:
        raise StoreUnavailable(f"The database {file} could not be finished: {error}.") from error
    left = [path.name for path in file.parent.glob(f"{file.name}-*")]
    if answers != ["delete", "ok"] or left:
        raise StoreUnavailable(f"The database {file} could not be finished: {answers}, {left}.")
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


def _check_empty(connection: Connection) -> None:
    for table in _TABLES:
        if table not in _REPLACED and connection.scalar(select(func.count()).select_from(table)):
            raise NotEmpty(
                f"The collection to restore into is not empty, there are {table.name} in its database: name another "
                "data folder and database."
            )


def _advance_sequences(connection: Connection, tables: list[Table]) -> None:
    """PostgreSQL numbers rows by sequences, which know nothing of rows that came with their numbers."""
    for table in tables:
        if "seq" in table.c:
            greatest = connection.scalar(select(func.max(table.c.seq)))
            if greatest is not None:
                set_to = text("SELECT setval(pg_get_serial_sequence(:table, 'seq'), :greatest)")
                connection.execute(set_to, {"table": table.name, "greatest": greatest})
