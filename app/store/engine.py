"""Connections to a SQLite file or a PostgreSQL server, made so that a commit survives a power cut."""

import os
import platform
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from app.errors import BadSettings

__all__ = ["BUSY_TIMEOUT_S", "CONNECTIONS", "SQLITE_BEGIN", "database_file", "database_url", "make_engine"]

BUSY_TIMEOUT_S = 10  # another program (a backup) may hold a lock for moments
SQLITE_BEGIN = "sqlite_begin"  # execution option: the statement that begins a transaction

# As many as the web framework has threads (40), four that look up keys, one each for /readyz, /metrics, housekeeping
# and jobs, one that holds the database, a second one for whoever deletes files, one at a time, and one that keeps up
# with other replicas: no thread waits for one.
# PostgreSQL allows 100 unless told otherwise.
CONNECTIONS = 50
_IDLE_S = 120  # within a transaction, with nothing asked: computing in between takes moments
_POSTGRESQL = "postgresql"
_DRIVER = "psycopg"


def database_url(place: str | Path) -> URL:
    """The URL of a SQLite file, whose path is taken as it is (? and % mean nothing), or of a PostgreSQL database.

    Raises: BadSettings for everything else.
    """
    if isinstance(place, Path):
        return URL.create("sqlite", database=str(place))
    try:
        url = make_url(place)
        kind = url.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise BadSettings(f"The database URL cannot be used: {error}") from error
    if kind == _POSTGRESQL:
        return _with_our_driver(url)
    if kind != "sqlite":
        raise BadSettings(
            f"The database URL names {kind}: only SQLite (sqlite:////a/file) and PostgreSQL "
            "(postgresql://user:password@host/database) are supported."
        )
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise BadSettings("The database URL names no file: write it as sqlite:////path/to/samekind.db.")
    return url


def database_file(place: str | Path) -> Path | None:
    """The SQLite file of that path or URL, links resolved; None: it is a server's database. Raises: BadSettings."""
    url = database_url(place)
    return None if url.get_backend_name() == _POSTGRESQL else Path(url.database or "").resolve()


def make_engine(url: URL, connections: int = CONNECTIONS) -> Engine:
    """connections: at most so many at once; who wants another waits for it.

    Raises: BadSettings if the URL's driver is not there or refuses it.
    """
    is_server = url.get_backend_name() == _POSTGRESQL
    try:
        engine = create_engine(
            url,
            pool_size=connections,
            max_overflow=0,
            pool_timeout=BUSY_TIMEOUT_S,
            pool_pre_ping=is_server,  # a server that was restarted has forgotten its connections
            connect_args=_server_options() if is_server else {},
        )
    except (ArgumentError, SQLAlchemyError, ImportError) as error:
        raise BadSettings(f"The database URL cannot be used: {error}") from error
    if not is_server:
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _with_our_driver(url: URL) -> URL:
    if url.drivername not in (_POSTGRESQL, f"{_POSTGRESQL}+{_DRIVER}"):
        raise BadSettings(f"The database URL names the driver {url.drivername}: write it as postgresql://...")
    return url.set(drivername=f"{_POSTGRESQL}+{_DRIVER}")


def _server_options() -> dict[str, Any]:
    return {
        "application_name": f"samekind process {os.getpid()} on {platform.node()}",  # PostgreSQL keeps 63 characters
        "connect_timeout": BUSY_TIMEOUT_S,
        # synchronous_commit: an answer follows the commit, whatever the server's own default is.
        "options": f"-c lock_timeout={BUSY_TIMEOUT_S}s -c synchronous_commit=on -c timezone=UTC "
        "-c client_encoding=UTF8 "
        # One whose machine is gone, or that hangs, may hold the writer's lock, or a turn: let the server notice.
        f"-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c "
        f"idle_in_transaction_session_timeout={_IDLE_S}s",
        # And let us notice that the server is.
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 25_000,  # milliseconds
    }


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves; the driver would say it late and only before writes
    for pragma in (
        f"busy_timeout = {BUSY_TIMEOUT_S * 1000}",
        "journal_mode = WAL",  # readers and the writer do not wait for each other
        "synchronous = FULL",  # a commit survives a power cut; NORMAL would lose the last ones in WAL mode
        "foreign_keys = ON",
        "secure_delete = ON",  # what was deleted is overwritten, not only forgotten
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(SQLITE_BEGIN, "BEGIN"))
