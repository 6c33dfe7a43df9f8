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
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.errors import BadSettings, NewerDatabase, StoreUnavailable

__all__ = ["Database", "database_file", "open_database"]

_log = logging.getLogger(__name__)

_BUSY_TIMEOUT_S = 10  # another program (a backup) may hold the file for moments
_CONNECTIONS = 41  # as many as the web framework has threads, and one for /readyz: no thread waits for one
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
def open_database(place: str | Path) -> Iterator[Database]:
    """Connect to a URL or a file and migrate; closes when the block ends.

    Raises: BadSettings (not a SQLite file), NewerDatabase, StoreUnavailable.
    """
    database = Database(_engine(_url(place)))
    try:
        database.migrate()
        yield database
    finally:
        database.close()


def database_file(place: str | Path) -> Path:
    """The SQLite file of that path or URL, links resolved. Raises: BadSettings for everything else."""
    return Path(_url(place).database or "").resolve()


def _url(place: str | Path) -> URL:
    """The URL of a SQLite file, whose name is taken as it is: ? and % in a path mean nothing. Raises: BadSettings."""
    if isinstance(place, Path):
        return URL.create("sqlite", database=str(place))
    try:
        url = make_url(place)
        kind = url.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise BadSettings(f"The database URL cannot be used: {error}") from error
    if kind != "sqlite":
        raise BadSettings(
            f"The database URL names {kind}: only SQLite is supported in this version (sqlite:////a/file)."
        )
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise BadSettings("The database URL names no file: write it as sqlite:////path/to/samekind.db.")
    return url


def _engine(url: URL) -> Engine:
    try:
        engine = create_engine(url, pool_size=_CONNECTIONS, max_overflow=0, pool_timeout=_BUSY_TIMEOUT_S)
    except (ArgumentError, SQLAlchemyError, ImportError) as error:
        raise BadSettings(f"The database URL cannot be used: {error}") from error
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
