"""One process owns a data folder and a database: the index lives in its memory, and two memories would drift.

Where the index lies outside of the processes, several share a database, each with the same lock held in shared mode: an
owner that shares with nobody keeps them out, and they keep it out.
"""

import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Literal

from filelock import FileLock, Timeout
from sqlalchemy import Column, Connection, select, text, update

from app.errors import CannotStart, DataFolderInUse
from app.records import FileDeletions, Turn
from app.store.database import ADVISORY, Database
from app.store.engine import database_file
from app.store.tables import file_deletions

__all__ = [
    "FolderFileDeletion",
    "JointChange",
    "OwnTurns",
    "ServerFileDeletion",
    "ServerTurns",
    "own_data_folder",
    "own_database",
    "share_database",
]

_log = logging.getLogger(__name__)

_OWNER, _FILES = 2, 3  # second keys of advisory locks; see `database.ADVISORY`
_TURNS: Mapping[Turn, int] = {"jobs": 4, "housekeeping": 5, "feed": 6, "learning": 7}
_WAIT_FOR_DELETION_S = 60  # as long as a sweep may hold it
_WAIT_FOR_NOTICE_S, _PAUSE_S = 3.0, 0.05

_HOLDER = text(
    "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted "
    "AND classid = :ours AND objid = :owner AND pg_locks.database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())"
)


@contextmanager
def own_data_folder(folder: Path) -> Iterator[None]:
    """Make the folder if need be and keep every other process out while the block runs.

    Raises: DataFolderInUse with the owner's process id, CannotStart if the folder cannot be made or written.
    """
    with _owning(f"data folder {folder}", folder / "samekind"):
        yield


@contextmanager
def own_database(place: str | Path, database: Database) -> Iterator[None]:
    """The same for a database: a SQLite file may lie outside the data folder, and a server is open to all.

    Raises: DataFolderInUse with the owner's process id, CannotStart if the file's folder cannot be made or written,
    StoreUnavailable.
    """
    file = database_file(place)
    with _owning(f"database {file}", file) if file else _owning_on_server(database):
        yield


@contextmanager
def share_database(database: Database) -> Iterator[None]:
    """Share a server's database with others that do the same. Raises: DataFolderInUse, StoreUnavailable."""
    with _owning_on_server(database, shared=True):
        yield


class FolderFileDeletion:
    """Implements `app.ports.FileDeletion` with a lock file in the data folder; one process deletes files."""

    def __init__(self, data_dir: Path):
        self._path = data_dir / "files.lock"
        self._counts = FileDeletions(0, 0)
        self._counting = Lock()

    def counts(self) -> FileDeletions:
        return self._counts

    def begin(self) -> None:
        with self._counting:
            self._counts = FileDeletions(self._counts.begun + 1, self._counts.ended)

    def end(self) -> None:
        with self._counting:
            self._counts = FileDeletions(self._counts.begun, self._counts.ended + 1)

    def settle(self) -> None:
        """Nothing to do: what a killed process counted went with it."""

    @contextmanager
    def allowed(self) -> Iterator[bool]:
        lock = self._lock()
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        except OSError as error:
            _log.warning(
                "%s cannot be locked (%s), so no file is deleted: see who owns it.", self._path, error.strerror
            )
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While the block runs no file is deleted. Raises: DataFolderInUse if somebody else pauses it."""
        try:
            with self._lock().acquire(timeout=_WAIT_FOR_DELETION_S):
                yield
        except Timeout as error:
            raise DataFolderInUse(
                f"{self._path} is held by another process for more than {_WAIT_FOR_DELETION_S} s: wait for the backup "
                "that is under way."
            ) from error

    def _lock(self) -> FileLock:
        return FileLock(self._path, mode=0o666)  # a backup may be made by another user than the service's


class ServerFileDeletion:
    """The same with an advisory lock of a database server, which processes on any machine meet at."""

    def __init__(self, database: Database):
        self._database = database

    def counts(self) -> FileDeletions:
        with self._database.reading() as connection:
            row = connection.execute(select(file_deletions.c.begun, file_deletions.c.ended)).one()
        return FileDeletions(row.begun, row.ended)

    def begin(self) -> None:
        self._count(file_deletions.c.begun)

    def end(self) -> None:
        self._count(file_deletions.c.ended)

    def settle(self) -> None:
        """Count those as ended whose process was killed. Does nothing where somebody deletes, or copies files."""
        with _tried(self._database, _FILES) as connection:
            if connection:
                connection.execute(update(file_deletions).values(ended=file_deletions.c.begun))

    def _count(self, column: Column[int]) -> None:
        with self._database.writing() as connection:
            connection.execute(update(file_deletions).values({column: column + 1}))

    @contextmanager
    def allowed(self) -> Iterator[bool]:
        with _tried(self._database, _FILES, mode="_shared") as connection:
            yield connection is not None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While the block runs no file is deleted. Raises: StoreUnavailable if somebody else pauses it."""
        key = {"ours": ADVISORY, "files": _FILES}
        with self._database.outside_transactions() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:ours, :files)"), key)
            try:
                yield
            finally:
                connection.execute(text("SELECT pg_advisory_unlock(:ours, :files)"), key)


class OwnTurns:
    """Implements `app.ports.Turns` where nobody else has the collection."""

    @contextmanager
    def taken(self, turn: Turn) -> Iterator[bool]:  # noqa: ARG002
        yield True


class JointChange:
    """Implements `app.ports.Change` with a transaction of a database server, which one process at a time is in."""

    def __init__(self, database: Database):
        self._database = database
        self._mine = threading.local()

    def __enter__(self) -> None:
        joint = self._database.joint()
        joint.__enter__()
        self._mine.joint = joint

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> object:
        return self._mine.joint.__exit__(kind, error, at)


class ServerTurns:
    """Implements `app.ports.Turns` with advisory locks of a database server."""

    def __init__(self, database: Database):
        self._database = database

    @contextmanager
    def taken(self, turn: Turn) -> Iterator[bool]:
        with _tried(self._database, _TURNS[turn]) as connection:
            yield connection is not None


@contextmanager
def _tried(database: Database, lock: int, mode: Literal["", "_shared"] = "") -> Iterator[Connection | None]:
    """The connection that holds an advisory lock while the block runs; None: somebody else holds it."""
    key = {"ours": ADVISORY, "lock": lock}
    with database.outside_transactions() as connection:
        has_it = connection.scalar(text(f"SELECT pg_try_advisory_lock{mode}(:ours, :lock)"), key)
        try:
            yield connection if has_it else None
        finally:
            if has_it:
                connection.execute(text(f"SELECT pg_advisory_unlock{mode}(:ours, :lock)"), key)


@contextmanager
def _owning(what: str, path: Path) -> Iterator[None]:
    """Hold PATH.lock, with the owner in PATH.pid.

    The operating system drops the lock when the process dies, however it dies; a stale pid file means nothing.
    """
    lock = FileLock(f"{path}.lock")
    pid_file = Path(f"{path}.pid")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
        pid_file.write_text(f"{os.getpid()}\n")
    except Timeout as error:
        raise _in_use(what, f"process {_owner(pid_file)}") from error
    except OSError as error:
        lock.release()
        raise CannotStart(f"The {what} cannot be used: {error.strerror}.") from error
    try:
        yield
    finally:
        pid_file.unlink(missing_ok=True)
        lock.release()


@contextmanager
def _owning_on_server(database: Database, *, shared: bool = False) -> Iterator[None]:
    """Hold an advisory lock for as long as one connection lives. `Database.claim` covers its loss."""
    with database.outside_transactions() as connection:
        key = {"ours": ADVISORY, "owner": _OWNER}
        if not _locked(connection, key, shared=shared):
            holder = connection.scalar(_HOLDER, key) or "another process"
            raise _in_use(f"database {database.engine.url.render_as_string()}", str(holder).removeprefix("samekind "))
        yield  # the connection ends with the pool, and the lock with the connection


def _locked(connection: Connection, key: Mapping[str, int], *, shared: bool) -> bool:
    """A server takes a moment to notice that an owner was killed, longer where it has much to do."""
    deadline = time.monotonic() + _WAIT_FOR_NOTICE_S
    function = "pg_try_advisory_lock_shared" if shared else "pg_try_advisory_lock"
    while not connection.scalar(text(f"SELECT {function}(:ours, :owner)"), key):
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


def _in_use(what: str, by_whom: str) -> DataFolderInUse:
    return DataFolderInUse(f"The {what} is in use by {by_whom}: stop that one first, or give this one its own.")


def _owner(pid_file: Path) -> str:
    try:
        return pid_file.read_text().strip() or "(unknown)"
    except OSError:
        return "(unknown)"
