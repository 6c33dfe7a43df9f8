"""One process owns a data folder and a database file: the index lives in its memory, and two memories would drift."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from app.errors import CannotStart, DataFolderInUse

__all__ = ["own_data_folder", "own_database"]


@contextmanager
def own_data_folder(folder: Path) -> Iterator[None]:
    """Make the folder if need be and keep every other process out while the block runs.

    Raises: DataFolderInUse with the owner's process id, CannotStart if the folder cannot be made or written.
    """
    with _owning(f"data folder {folder}", folder / "samekind"):
        yield


@contextmanager
def own_database(file: Path) -> Iterator[None]:
    """The same for a database file, which may lie outside the data folder, where others have theirs.

    Raises: DataFolderInUse with the owner's process id, CannotStart if its folder cannot be made or written.
    """
    with _owning(f"database {file}", file):
        yield


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
        raise DataFolderInUse(
            f"The {what} is in use by process {_owner(pid_file)}: stop that one first, or give this one its own."
        ) from error
    except OSError as error:
        lock.release()
        raise CannotStart(f"The {what} cannot be used: {error.strerror}.") from error
    try:
        yield
    finally:
        pid_file.unlink(missing_ok=True)
        lock.release()


def _owner(pid_file: Path) -> str:
    try:
        return pid_file.read_text().strip() or "(unknown)"
    except OSError:
        return "(unknown)"
