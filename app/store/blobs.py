"""Files named by the sha256 of their content, under any root that fsspec can reach."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from app.errors import MissingFile, StoreUnavailable
from embedding.durable import flush_folder, write_whole

__all__ = ["FsspecBlobs"]


class FsspecBlobs:
    """Implements `app.ports.Blobs`. The first two digits of the name are a folder, so that folders stay small."""

    def __init__(self, root: str | Path):
        """A folder, whose name is taken as it is, or a URL. Raises: StoreUnavailable if it cannot be opened."""
        self._files, self._root = (LocalFileSystem(), str(root)) if isinstance(root, Path) else _opened(root)
        self._is_local = "file" in _protocols(self._files)

    def put(self, sha256: str, content: bytes) -> None:
        with _as_unavailable():
            if self._is_local:
                _write_durably(Path(self._path(sha256)), content)
            elif not self._holds(sha256, len(content)):
                self._files.pipe_file(self._path(sha256), content)

    def open(self, sha256: str) -> BinaryIO:
        with _as_unavailable():
            try:
                file: BinaryIO = self._files.open(self._path(sha256), "rb")
            except FileNotFoundError as error:
                raise MissingFile(
                    f"The file {sha256} is not in the blob store: restore it from a backup, or delete its image."
                ) from error
        return file

    def delete(self, sha256: str) -> None:
        with _as_unavailable():
            try:
                self._files.rm_file(self._path(sha256))
            except FileNotFoundError:
                return

    def _holds(self, sha256: str, length: int) -> bool:
        try:
            return bool(self._files.size(self._path(sha256)) == length)
        except FileNotFoundError:
            return False

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
    if path.is_file() and path.stat().st_size == len(content):
        flush_folder(path.parent)  # another writer may not have got this far
    else:
        write_whole(path, content)


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)


@contextmanager
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except OSError as error:  # disk full, no permission, no network
        raise StoreUnavailable(f"The blob store does not answer: {error.strerror or error}.") from error
