"""Files named by the sha256 of their content, under any root that fsspec can reach."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from fsspec.core import url_to_fs

from app.errors import MissingFile, StoreUnavailable

__all__ = ["FsspecBlobs"]


class FsspecBlobs:
    """Implements `app.ports.Blobs`. The first two digits of the name are a folder, so that folders stay small."""

    def __init__(self, root: str):
        """Raises: StoreUnavailable if there is no such kind of root."""
        try:
            self._files, self._root = url_to_fs(root)
        except (ValueError, ImportError) as error:
            raise StoreUnavailable(f"The blob store {root} cannot be opened: {error}") from error
        self._is_local = "file" in _protocols(self._files)

    def put(self, sha256: str, content: bytes) -> None:
        with _as_unavailable():
            if self._is_local:
                _write_durably(Path(self._path(sha256)), content)
            elif not self._files.exists(self._path(sha256)):
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

    def exists(self, sha256: str) -> bool:
        with _as_unavailable():
            return bool(self._files.exists(self._path(sha256)))

    def delete(self, sha256: str) -> None:
        with _as_unavailable():
            try:
                self._files.rm_file(self._path(sha256))
            except FileNotFoundError:
                return

    def _path(self, sha256: str) -> str:
        return f"{self._root}/{sha256[:2]}/{sha256}"


def _write_durably(path: Path, content: bytes) -> None:
    """Write beside the final name, flush, rename, flush the folder: a power cut leaves all of the file or none."""
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        _flush_folder(path.parent.parent)
    if not path.exists():
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    _flush_folder(path.parent)  # also where the file was there: another writer may not have got this far


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)


@contextmanager
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except OSError as error:  # disk full, no permission, no network
        raise StoreUnavailable(f"The blob store does not answer: {error.strerror or error}.") from error
