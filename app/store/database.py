"""The database connection: opened, migrated, and its failures translated."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, func, select, text
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError, PendingRollbackError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.errors import BadSettings, NewerDatabase, OlderDatabase, StoreUnavailable
from app.store.engine import CONNECTIONS, SQLITE_BEGIN, database_url, make_engine
from app.store.tables import ownership

__all__ = ["ADVISORY", "Database", "connected", "open_database"]

_log = logging.getLogger(__name__)

# Of PostgreSQL's error classes: no connection, a read-only transaction, out of disk or memory, the server shut down or
# at fault itself. https://www.postgresql.org/docs/current/errcodes-appendix.html
_SERVER_TROUBLE = {"08", "25", "53", "57", "58", "XX"}

# Keys of PostgreSQL's advisory locks are two integers of 32 bits; the first one says that they are ours.
ADVISORY = 0x5A3E
_WRITER = 1


class Database:
    """Connections in transactions. Failures of the database itself come out as StoreUnavailable.

    One transaction writes at a time, on both engines: what it reads cannot change before it has written.
    """

    def __init__(self, engine: Engine, name: str = "The database"):
        """name: what messages call it."""
        self.engine = engine
        self._name = name
        self.is_sqlite = engine.dialect.name == "sqlite"
        self._epoch: int | None = None  # of our ownership of a server's database
        self._joint = threading.local()  # the connection of the thread's joint transaction, if it is in one

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the database throughout, and what its joint transaction wrote."""
        if joint := self._joint_connection():
            with _as_unavailable(self._name):
                yield joint
            return
        with _as_unavailable(self._name), self.engine.connect() as plain:
            connection = plain
            if not self.is_sqlite:
                connection = plain.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: on disk when the block ends, undone if it raises; within a joint one, when that ends."""
        if joint := self._joint_connection():
            with _as_unavailable(self._name):
                yield joint
            return
        with _as_unavailable(self._name), self.engine.connect() as plain:
            # SQLite: take the write lock at once, since a reader that turns writer may be refused without waiting.
            options = {SQLITE_BEGIN: "BEGIN IMMEDIATE"} if self.is_sqlite else {"isolation_level": "READ COMMITTED"}
            connection = plain.execution_options(**options)
            with connection.begin():
                if not self.is_sqlite:
                    connection.execute(select(func.pg_advisory_xact_lock(ADVISORY, _WRITER)))
                    self._check_ownership(connection)
                yield connection

    @contextmanager
    def joint(self) -> Iterator[None]:
        """Make one transaction of everything that this thread reads and writes in the block.

        Nobody else writes meanwhile, through any process: as it is the database's writer.
        """
        with self.writing() as connection:
            self._joint.connection = connection
            try:
                yield
            finally:
                self._joint.connection = None

    def _joint_connection(self) -> Connection | None:
        connection: Connection | None = getattr(self._joint, "connection", None)
        return connection

    @contextmanager
    def outside_transactions(self) -> Iterator[Connection]:
        """A connection on which every statement stands alone: for what cannot be done within a transaction."""
        with _as_unavailable(self._name), self.engine.connect() as plain:
            # The driver itself begins nothing on SQLite; our event would.
            options = {SQLITE_BEGIN: "SELECT 1"} if self.is_sqlite else {"isolation_level": "AUTOCOMMIT"}
            yield plain.execution_options(**options)

    def migrate(self) -> None:
        """Bring the tables to this program's revision. Raises: NewerDatabase, StoreUnavailable."""
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        with self.writing() as connection:
            _revision(connection)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def check_revision(self) -> None:
        """Raises: NewerDatabase, OlderDatabase (also where there are no tables yet), StoreUnavailable."""
        with self.reading() as connection:
            current, head = _revision(connection)
        if current != head:
            raise OlderDatabase(
                f"The database is at revision {current or 'none'}, this program works with {head}: start the service "
                "once, which brings it there, or use the program of the version that wrote it."
            )

    def claim(self, *, shared: bool = False) -> None:
        """On a server: be the owner from now on, and have every former one stop writing.

        shared: be one of several owners; then those that own it in the same way go on writing.
        """
        if self.is_sqlite:
            return
        with self.writing() as connection:
            former = connection.execute(select(ownership.c.epoch, ownership.c.shared)).one_or_none()
            if former and former.shared and shared:
                self._epoch = former.epoch
                return
            epoch = (former.epoch if former else 0) + 1
            connection.execute(ownership.delete())
            connection.execute(ownership.insert().values(id=1, epoch=epoch, shared=shared))
        self._epoch = epoch

    def close(self) -> None:
        self.engine.dispose()

    def _check_ownership(self, connection: Connection) -> None:
        """The lock on a server is lost when that restarts; this is what keeps two owners apart all the same."""
        if self._epoch is not None and connection.scalar(select(ownership.c.epoch)) != self._epoch:
            raise StoreUnavailable(
                "Another process has taken over this database while the server was away: stop one of the two, then "
                "start this one again."
            )


@contextmanager
def open_database(place: str | Path, name: str = "The database") -> Iterator[Database]:
    """Connect to a URL or a file and migrate; closes when the block ends.

    Raises: BadSettings (neither SQLite nor PostgreSQL), NewerDatabase, StoreUnavailable.
    """
    with connected(place, name) as database:
        database.migrate()
        yield database


@contextmanager
def connected(place: str | Path, name: str = "The database", connections: int = CONNECTIONS) -> Iterator[Database]:
    """The same without a migration; connections: at most so many at once. Raises: BadSettings."""
    database = Database(make_engine(database_url(place), connections), name)
    try:
        yield database
    finally:
        database.close()


def _check_encoding(connection: Connection) -> None:
    """Raises: BadSettings for a PostgreSQL database that counts bytes where we mean characters."""
    if connection.dialect.name == "sqlite":
        return
    encoding = connection.scalar(text("SHOW server_encoding"))
    if encoding != "UTF8":
        raise BadSettings(
            f"The database's encoding is {encoding}: make another one, with CREATE DATABASE name ENCODING 'UTF8' "
            "TEMPLATE template0."
        )


def _revision(connection: Connection) -> tuple[str | None, str | None]:
    """The database's revision and this program's. Raises: NewerDatabase, BadSettings."""
    _check_encoding(connection)
    scripts = ScriptDirectory(str(Path(__file__).parent / "migrations"))
    current, head = MigrationContext.configure(connection).get_current_revision(), scripts.get_current_head()
    if current is not None and current not in {script.revision for script in scripts.walk_revisions()}:
        raise NewerDatabase(
            f"The database is at revision {current}, this program knows up to {head}: "
            "upgrade the program, or restore the backup from before that upgrade."
        )
    return current, head


@contextmanager
def _as_unavailable(name: str) -> Iterator[None]:
    try:
        yield
    except (OperationalError, PendingRollbackError, PoolTimeout) as error:
        raise _unavailable(name, error) from error
    except DBAPIError as error:
        # DatabaseError itself is SQLite's word for a file that is damaged or none of its own.
        if type(error) is DatabaseError or str(getattr(error.orig, "sqlstate", ""))[:2] in _SERVER_TROUBLE:
            raise _unavailable(name, error) from error
        raise


def _unavailable(name: str, error: SQLAlchemyError) -> StoreUnavailable:
    reason = " ".join(str(getattr(error, "orig", None) or error).split())
    _log.error("%s: %s", name, reason)
    return StoreUnavailable(f"{name} does not answer: {reason}.")
