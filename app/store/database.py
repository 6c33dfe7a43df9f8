"""The database connection: opened, migrated, and its failures translated."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.errors import BadSettings, NewerDatabase, StoreUnavailable

__all__ = ["Database", "open_database"]

_log = logging.getLogger(__name__)

_BUSY_TIMEOUT_S = 10  # another program (a backup) may hold the file for moments
_CONNECTIONS = 40  # as many as the web framework has threads, so that no thread waits for one
_BEGIN = "sqlite_begin"


class Database:
    """Connections in transactions. Failures of the database itself come out as StoreUnavailable."""

    def __init__(self, engine: Engine):
        self._engine = engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the database throughout."""
        with _as_unavailable(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: on disk when the block ends, undone if it raises."""
        with _as_unavailable(), self._engine.connect() as plain:
            # SQLite: take the write lock at once, since a reader that turns writer may be refused without waiting.
            connection = plain.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
            with connection.begin():
                yield connection

    def migrate(self) -> None:
        """Bring the tables to this program's revision. Raises: NewerDatabase, StoreUnavailable."""
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        scripts = ScriptDirectory.from_config(config)
        with self.writing() as connection:
            current = MigrationContext.configure(connection).get_current_revision()
            if current is not None and current not in {script.revision for script in scripts.walk_revisions()}:
                raise NewerDatabase(
                    f"The database is at revision {current}, this program knows up to {scripts.get_current_head()}: "
                    "upgrade the program, or restore the backup from before that upgrade."
                )
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def close(self) -> None:
        self._engine.dispose()


@contextmanager
def open_database(url: str) -> Iterator[Database]:
    """Connect and migrate; closes when the block ends.

    Raises: BadSettings (no such kind of database), NewerDatabase, StoreUnavailable.
    """
    database = Database(_engine(url))
    try:
        database.migrate()
        yield database
    finally:
        database.close()


def _engine(url: str) -> Engine:
    try:
        engine = create_engine(url, pool_size=_CONNECTIONS, max_overflow=0, pool_timeout=_BUSY_TIMEOUT_S)
    except (ArgumentError, SQLAlchemyError, ImportError) as error:
        raise BadSettings(f"The database URL cannot be used: {error}") from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves; the driver would say it late and only before writes
    for pragma in (
        f"busy_timeout = {_BUSY_TIMEOUT_S * 1000}",
        "journal_mode = WAL",  # readers and the writer do not wait for each other
        "synchronous = FULL",  # a commit survives a power cut; NORMAL would lose the last ones in WAL mode
        "foreign_keys = ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))


@contextmanager
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except (OperationalError, PoolTimeout) as error:
        raise _unavailable(error) from error
    except DatabaseError as error:
        if type(error) is DatabaseError:  # SQLite's word for a file that is damaged or none of its own
            raise _unavailable(error) from error
        raise


def _unavailable(error: SQLAlchemyError) -> StoreUnavailable:
    reason = getattr(error, "orig", None) or error
    _log.error("database: %s", reason)
    return StoreUnavailable(f"The database does not answer: {reason}.")
