"""Files named by the sha256 of their content, under any root that fsspec can reach."""

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from app.errors import MissingFile, StoreUnavailable
from app.records import BlobName
from embedding.durable import PARTIAL, flush_folder, write_whole

__all__ = ["FsspecBlobs"]

_NAME = re.compile(r"[0-9a-f]{64}")
_FOLDER = re.compile(r"[0-9a-f]{2}")
_MARK = ".samekind"  # a folder in the root, which says that this is the root, and not where a disk was mounted once
_REMEDY = "add the same picture again, restore the file from a backup, or delete its image."


class FsspecBlobs:
    """Implements `app.ports.Blobs`. The first two digits of the name are a folder, so that folders stay small."""

    def __init__(self, root: str | Path, name: str = "The blob store"):
        """A folder, whose name is taken as it is, or a URL; name: what messages call it.

        Raises: StoreUnavailable if it cannot be opened.
        """
        self._name = name
        # Listings are asked for to learn what others did meanwhile, so none may come from fsspec's memory.
        self._files, self._root = (LocalFileSystem(), str(root)) if isinstance(root, Path) else _opened(root)
        self._is_local = "file" in _protocols(self._files)

    def prepare(self, *, is_new: bool) -> None:
        """Make the root, if it is a folder, and mark it; nothing else ever does. Call at the start of a process.

        is_new: whether no files are in it yet. One that should hold files and holds none stays as it is: its disk may
        not be mounted. Raises: StoreUnavailable.
        """
        if not self._is_local:
            return
        with self._as_unavailable():
            root = Path(self._root)
            if is_new or any(_FOLDER.fullmatch(each.name) for each in (root.iterdir() if root.is_dir() else ())):
                (root / _MARK).mkdir(parents=True, exist_ok=True)
                flush_folder(root)
                flush_folder(root.parent)

    def put(self, sha256: str, content: bytes) -> None:
        with self._as_unavailable():
            if self._is_local:
                _check_mark(Path(self._root))
                _write_durably(Path(self._path(sha256)), content)
            elif not self._is_whole(sha256):
                self._files.pipe_file(self._path(sha256), content)

    def ping(self) -> None:
        with self._as_unavailable():
            # Of a folder, whether it is there and may be used; of a store elsewhere, whether it answers at all.
            if self._is_local:
                _check_mark(Path(self._root))
                _check_access(Path(self._root))
            else:
                self._files.invalidate_cache()
                with suppress(FileNotFoundError):
                    self._files.info(f"{self._root}/ping")

    def holds(self, sha256: str) -> bool:
        with self._as_unavailable():
            return bool(self._files.exists(self._path(sha256)))

    def open(self, sha256: str) -> BinaryIO:
        with self._as_unavailable():
            try:
                file: BinaryIO = self._files.open(self._path(sha256), "rb")
            except FileNotFoundError as error:
                raise MissingFile(f"The file {sha256} is not in the blob store: {_REMEDY}") from error
            try:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:  # type: ignore[arg-type]  # it has readinto
                    raise MissingFile(f"The file {sha256} in the blob store is not what it was: {_REMEDY}")
                file.seek(0)
            except BaseException:
                file.close()
                raise
        return file

    def delete(self, sha256: str) -> None:
        with self._as_unavailable():
            try:
                self._files.rm_file(self._path(sha256))
            except FileNotFoundError:
                return

    def listing(self) -> Iterator[list[BlobName]]:
        with self._as_unavailable():
            self._files.invalidate_cache()
            folders = self._entries(self._root)
            for folder in sorted(str(entry["name"]) for entry in folders if entry["type"] == "directory"):
                if _FOLDER.fullmatch(_last_part(folder)):
                    yield [name for entry in self._entries(folder) if (name := _blob_name(entry))]

    def delete_partial(self, name: str) -> None:
        with self._as_unavailable():
            try:
                self._files.rm_file(f"{self._root}/{name.lstrip('.')[:2]}/{name}")
            except FileNotFoundError:
                return

    def _entries(self, folder: str) -> list[dict[str, Any]]:
        try:
            entries: list[dict[str, Any]] = self._files.ls(folder, detail=True)
        except FileNotFoundError:
            return []
        return entries

    def _is_whole(self, sha256: str) -> bool:
        try:
            self.open(sha256).close()
        except MissingFile:
            return False
        return True

    @contextmanager
    def _as_unavailable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # disk full, no permission, no network
            raise StoreUnavailable(f"{self._name} does not answer: {error.strerror or error}.") from error

    def _path(self, sha256: str) -> str:
        return f"{self._root}/{sha256[:2]}/{sha256}"


def _opened(url: str) -> tuple[Any, str]:
    try:
        files, root = url_to_fs(url)
    except Exception as error:  # each kind of store has its own, also for what is missing in its URL
        reason = " ".join(str(error).split()) or type(error).__name__
        raise StoreUnavailable(
            f"The blob store {url} cannot be opened: {reason}: correct SAMEKIND_BLOBS_URL."
        ) from error
    return files, root


def _write_durably(path: Path, content: bytes) -> None:
    if _has_content(path, content):
        flush_folder(path.parent)  # another writer may not have got this far
    else:
        write_whole(path, content)


def _check_mark(root: Path) -> None:
    """Files in a folder that only looks like the root would be lost when the right one comes back."""
    if not (root / _MARK).is_dir():
        reason = f"its folder is gone or has lost what was in it ({_MARK} marks it): mount it, or restore a backup"
        raise FileNotFoundError(errno.ENOENT, reason)


def _check_access(root: Path) -> None:
    with os.scandir(root):
        pass
    if not os.access(root, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _has_content(path: Path, content: bytes) -> bool:
    """Not by its length alone: a damaged file is made whole by putting it again."""
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except FileNotFoundError:
        return False


def _blob_name(entry: dict[str, Any]) -> BlobName | None:
    """None for what is not ours; nobody else's file is ever deleted."""
    name = _last_part(str(entry["name"]))
    modified = entry.get("mtime", entry.get("LastModified", entry.get("created")))
    seconds = modified.timestamp() if isinstance(modified, datetime) else modified
    is_partial = name.startswith(".") and name.endswith(PARTIAL) and bool(_NAME.match(name, 1))
    if entry["type"] != "file" or not (is_partial or _NAME.fullmatch(name)):
        return None
    return BlobName(name, is_partial, seconds)


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)
