"""Files under a folder of this machine: durable when they are kept, and kept only where the folder is the right one."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from app.errors import StoreUnavailable
from app.store.remote import FileEntry
from embedding.durable import flush_folder, write_whole

__all__ = ["FolderFiles"]

_MARK = ".samekind"  # a folder in the root, which says that this is the root, and not where a disk was mounted once


class FolderFiles:
    """Paths are relative to the root and have slashes. Safe to use from several threads and processes.

    Every method raises StoreUnavailable where the disk does not do what it should.
    """

    def __init__(self, root: Path, name: str):
        """name: what messages call it."""
        self.root, self._name = root, name

    def mark(self) -> None:
        """Make the root if need be, and say in it that this is the one."""
        with self._as_unavailable():
            (self.root / _MARK).mkdir(parents=True, exist_ok=True)
            flush_folder(self.root)
            flush_folder(self.root.parent)

    def check(self) -> None:
        """Whether the root is there, is the right one, and may be used."""
        with self._as_unavailable():
            self._check_mark()
            with os.scandir(self.root):
                pass
            if not os.access(self.root, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def holds(self, path: str) -> bool:
        """Whether there is such a file."""
        with self._as_unavailable():
            return (self.root / path).exists()

    def open(self, path: str) -> BinaryIO:
        """A file, to be closed by the caller. Raises: FileNotFoundError."""
        with self._as_unavailable(but=FileNotFoundError):
            return (self.root / path).open("rb")

    def keep(self, path: str, content: bytes) -> None:
        """Have a file of that content there."""
        with self._as_unavailable():
            self._check_mark()
            file = self.root / path
            if _has_content(file, content):
                flush_folder(file.parent)  # another writer may not have got this far
            else:
                write_whole(file, content)

    def delete(self, path: str) -> None:
        """Remove a file; does nothing if it is not there."""
        with self._as_unavailable():
            (self.root / path).unlink(missing_ok=True)

    def folders(self) -> list[str]:
        """The names of the folders in the root, sorted; none if it is not there, which `check` complains of."""
        gone = (FileNotFoundError, NotADirectoryError)
        with self._as_unavailable(), suppress(*gone), os.scandir(self.root) as entries:
            return sorted(each.name for each in entries if each.is_dir())
        return []

    def pages(self, folder: str) -> Iterator[list[FileEntry]]:
        """The files in one of them, all at once."""
        found: list[FileEntry] = []
        with self._as_unavailable(), suppress(FileNotFoundError), os.scandir(self.root / folder) as entries:
            found = [entry for each in entries if (entry := _entry(each))]
        yield found

    def _check_mark(self) -> None:
        """Files in a folder that only looks like the root would be lost when the right one comes back."""
        if not (self.root / _MARK).is_dir():
            reason = f"its folder is gone or has lost what was in it ({_MARK} marks it): mount it, or restore a backup"
            raise FileNotFoundError(errno.ENOENT, reason)

    @contextmanager
    def _as_unavailable(self, but: type[OSError] | tuple[()] = ()) -> Iterator[None]:
        try:
            yield
        except but:
            raise
        except OSError as error:  # disk full, no permission
            raise StoreUnavailable(f"{self._name} does not answer: {error.strerror or error}.") from error


def _has_content(path: Path, content: bytes) -> bool:
    """Not by its length alone: a damaged file is made whole by putting it again."""
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except FileNotFoundError:
        return False


def _entry(entry: os.DirEntry[str]) -> FileEntry | None:
    """None for what is no file, or was deleted meanwhile."""
    try:
        return FileEntry(entry.name, entry.stat().st_mtime) if entry.is_file() else None
    except FileNotFoundError:
        return None
