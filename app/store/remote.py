"""Files under a root in a store elsewhere, that fsspec reaches: the few things that are asked of it, and its errors."""

import io
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, BinaryIO

from fsspec.core import url_to_fs

from app.errors import StoreUnavailable

__all__ = ["FileEntry", "RemoteFiles", "masked", "open_file_system"]

_IN_MEMORY = 2**20  # bytes of an open file; larger ones wait on disk for clients that are slow to take them
_USER_IN_URL = re.compile(r"(?<=//)[^/@\s\"']+(?=@)")
_URL = re.compile(r":?\s*[\"']?\b[a-z][a-z0-9+.-]*://[^\s\"']+[\"']?")


@dataclass(frozen=True)
class FileEntry:
    """A file in a folder."""

    name: str  # without the folder
    modified: float | None  # seconds since 1970, where the store knows it


class RemoteFiles:
    """Paths are relative to the root and have slashes. Safe to use from several threads.

    Every method raises StoreUnavailable where the store does not do what it should.
    """

    def __init__(self, files: Any, root: str, name: str):
        """name: what messages call the store."""
        self._files, self._root, self._name = files, root, name

    def check(self) -> None:
        """Whether the store answers at all, and what the root lies in is there as far as that can be known."""
        with self._as_unavailable():
            self._files.invalidate_cache()
            with suppress(FileNotFoundError):
                self._files.info(self._path("ping"))

    def holds(self, path: str) -> bool:
        """Whether there is such a file."""
        with self._as_unavailable():
            return bool(self._files.exists(self._path(path)))

    def open(self, path: str) -> BinaryIO:
        """All of a file as it is now, here: no connection is held. To be closed by the caller.

        Raises: FileNotFoundError.
        """
        content = self.read(path)
        if len(content) <= _IN_MEMORY:
            return io.BytesIO(content)
        with self._as_unavailable():
            file = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
            try:
                file.write(content)
                file.seek(0)
            except BaseException:
                file.close()
                raise
        return file

    def read(self, path: str) -> bytes:
        """All of a file. Raises: FileNotFoundError."""
        with self._as_unavailable(but=FileNotFoundError):
            content: bytes = self._files.cat_file(self._path(path))
        return content

    def write(self, path: str, content: bytes) -> None:
        """Put a file there, in place of what is there."""
        with self._as_unavailable():
            self._files.pipe_file(self._path(path), content)

    def keep(self, path: str, content: bytes) -> None:
        """The same, but it need not be sent again where the store holds all of it."""
        try:
            if self.read(path) == content:
                return
        except FileNotFoundError:
            pass
        self.write(path, content)

    def upload(self, path: str, file: IO[bytes]) -> None:
        """The same as `write` from the start of a file, which need not fit into memory."""
        self.write(path, _all_of(file))

    def delete(self, path: str) -> None:
        """Remove a file; does nothing if it is not there."""
        with self._as_unavailable(), suppress(FileNotFoundError):
            self._files.rm_file(self._path(path))

    def folders(self, path: str = "") -> list[str]:
        """The names of the folders in one, sorted; none if it is not there."""
        return sorted(_last_part(each["name"]) for each in self._entries(path) if each["type"] == "directory")

    def pages(self, path: str) -> Iterator[list[FileEntry]]:
        """The files in a folder, some thousands at a time; none if there is no such folder."""
        entries = [_entry(each) for each in self._entries(path) if each["type"] == "file"]
        if entries:
            yield entries

    def _entries(self, path: str) -> list[dict[str, Any]]:
        with self._as_unavailable(), suppress(FileNotFoundError):
            self._files.invalidate_cache()  # of what it remembers, while others change it
            entries: list[dict[str, Any]] = self._files.ls(self._path(path), detail=True)
            return entries
        return []

    def _path(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    @contextmanager
    def _as_unavailable(self, but: type[OSError] | tuple[()] = ()) -> Iterator[None]:
        """Whatever a store raises: each library has errors of its own, many of which are no OSError."""
        try:
            yield
        except but:
            raise
        except Exception as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        in_time = "there was no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
        said = getattr(error, "strerror", None) or str(error) or in_time
        # Clients read this too, and need not know where the store is.
        return StoreUnavailable(f"{self._name} does not answer: {_URL.sub('', masked(said)).rstrip('.')}.")


def open_file_system(url: str, **options: Any) -> tuple[Any, str]:
    """What reaches a URL, and its path there; options: of that kind of file system. Raises: StoreUnavailable."""
    try:
        files, root = url_to_fs(url, **options)
    except Exception as error:  # each kind of store has its own, also for what is missing in its URL
        reason = str(error) or type(error).__name__
        scale = isinstance(error, ImportError) and url.startswith(("s3:", "s3a:"))
        remedy = "install samekind[scale]" if scale else "correct SAMEKIND_BLOBS_URL"
        raise StoreUnavailable(masked(f"The blob store {url} cannot be opened: {reason}: {remedy}.")) from error
    return files, root


def masked(text: str) -> str:
    """In one line, without the user and the password that a URL in it may hold."""
    return _USER_IN_URL.sub("***", " ".join(text.split()))


def _entry(entry: dict[str, Any]) -> FileEntry:
    modified = entry.get("mtime", entry.get("LastModified", entry.get("created")))
    seconds = modified.timestamp() if isinstance(modified, datetime) else modified
    return FileEntry(_last_part(entry["name"]), seconds)


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _all_of(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
