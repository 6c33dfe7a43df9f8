"""One process owns a data folder: the index lives in its memory, and two memories would drift apart."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from app.errors import CannotStart, DataFolderInUse

__all__ = ["own_data_folder"]


@contextmanager
def own_data_folder(folder: Path) -> Iterator[None]:
    """Make the folder if need be and keep every other process out while the block runs.

    The operating system drops the lock when the process dies, however it dies; a stale pid file means nothing.

    Raises: DataFolderInUse with the owner's process id, CannotStart if the folder cannot be made or written.
    """
    lock = FileLock(folder / "samekind.lock")
    pid_file = folder / "samekind.pid"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
        pid_file.write_text(f"{os.getpid()}\n")
    except Timeout as error:
        raise DataFolderInUse(
            f"The data folder {folder} is in use by process {_owner(pid_file)}: stop that one first, "
            "or give this one a folder of its own."
        ) from error
    except OSError as error:
        lock.release()
        raise CannotStart(f"The data folder {folder} cannot be used: {error.strerror}.") from error
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
