"""One process owns a data folder and a database: the index lives in its memory, and two memories would drift."""

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from filelock import FileLock, Timeout
from sqlalchemy import Connection, text

from app.errors import CannotStart, DataFolderInUse
from app.store.database import ADVISORY, Database
from app.store.engine import database_file

__all__ = ["FolderFileDeletion", "ServerFileDeletion", "own_data_folder", "own_database"]

_log = logging.getLogger(__name__)

_OWNER, _FILES = 2, 3  # second keys of advisory locks; see `database.ADVISORY`
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


class FolderFileDeletion:
    """Implements `app.ports.FileDeletion` with a lock file in the data folder."""

    def __init__(self, data_dir: Path):
        self._path = data_dir / "files.lock"

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

    _KEY: ClassVar = {"ours": ADVISORY, "files": _FILES}

    def __init__(self, database: Database):
        self._database = database

    @contextmanager
    def allowed(self) -> Iterator[bool]:
        with self._database.outside_transactions() as connection:
            allowed = bool(connection.scalar(text("SELECT pg_try_advisory_lock_shared(:ours, :files)"), self._KEY))
            try:
                yield allowed
            finally:
                if allowed:
                    connection.execute(text("SELECT pg_advisory_unlock_shared(:ours, :files)"), self._KEY)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While the block runs no file is deleted. Raises: StoreUnavailable if somebody else pauses it."""
        with self._database.outside_transactions() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:ours, :files)"), self._KEY)
            try:
                yield
            finally:
                connection.execute(text("SELECT pg_advisory_unlock(:ours, :files)"), self._KEY)


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
def _owning_on_server(database: Database) -> Iterator[None]:
    """Hold an advisory lock for as long as one connection lives. `Database.claim` covers its loss."""
    with database.outside_transactions() as connection:
        key = {"ours": ADVISORY, "owner": _OWNER}
        if not _locked(connection, key):
            holder = connection.scalar(_HOLDER, key) or "another process"
            raise _in_use(f"database {database.engine.url.render_as_string()}", str(holder).removeprefix("samekind "))
        yield  # the connection ends with the pool, and the lock with the connection


def _locked(connection: Connection, key: Mapping[str, int]) -> bool:
    """A server takes a moment to notice that an owner was killed, longer where it has much to do."""
    deadline = time.monotonic() + _WAIT_FOR_NOTICE_S
    while not connection.scalar(text("SELECT pg_try_advisory_lock(:ours, :owner)"), key):
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
