"""Files named by the sha256 of their content, under any root that fsspec can reach."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from app.errors import MissingFile, StoreUnavailable
from app.records import BlobName
from app.store.folder import FolderFiles
from app.store.remote import FileEntry, RemoteFiles, open_file_system
from app.store.s3 import SCHEMES, S3Files
from embedding.durable import PARTIAL

__all__ = ["FsspecBlobs"]

_NAME = re.compile(r"[0-9a-f]{64}")
_FOLDER = re.compile(r"[0-9a-f]{2}")
_REMEDY = "add the same picture again, restore the file from a backup, or delete its image."


class FsspecBlobs:
    """Implements `app.ports.Blobs`. The first two digits of the name are a folder, so that folders stay small."""

    def __init__(self, root: str | Path, name: str = "The blob store"):
        """A folder, whose name is taken as it is, or a URL; name: what messages call it.

        Raises: StoreUnavailable if it cannot be opened.
        """
        self._name = name
        self.files = FolderFiles(root, name) if isinstance(root, Path) else _files(root, name)

    def prepare(self, *, is_new: bool) -> None:
        """Make the root, if it is a folder, and mark it; nothing else ever does. Call at the start of a process.

        is_new: whether no files are in it yet. One that should hold files and holds none stays as it is: its disk may
        not be mounted. A store elsewhere is not made, only asked whether it is there. Raises: StoreUnavailable.
        """
        if not isinstance(self.files, FolderFiles):
            self.files.check()
        elif is_new or self._folders():
            self.files.mark()

    def put(self, sha256: str, content: bytes) -> None:
        self.files.keep(_path(sha256), content)

    def ping(self) -> None:
        self.files.check()

    def holds(self, sha256: str) -> bool:
        return self.files.holds(_path(sha256))

    def open(self, sha256: str) -> BinaryIO:
        try:
            file = self.files.open(_path(sha256))
        except FileNotFoundError as error:
            raise MissingFile(f"The file {sha256} is not in the blob store: {_REMEDY}") from error
        try:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:  # type: ignore[arg-type]  # it has readinto
                raise MissingFile(f"The file {sha256} in the blob store is not what it was: {_REMEDY}")
            file.seek(0)
        except OSError as error:
            file.close()
            raise StoreUnavailable(f"{self._name} does not answer: {error.strerror or error}.") from error
        except BaseException:
            file.close()
            raise
        return file

    def delete(self, sha256: str) -> None:
        self.files.delete(_path(sha256))

    def listing(self) -> Iterator[list[BlobName]]:
        for folder in self._folders():
            for entries in self.files.pages(folder):
                yield [name for entry in entries if (name := _blob_name(entry))]

    def delete_partial(self, name: str) -> None:
        self.files.delete(f"{name.lstrip('.')[:2]}/{name}")

    def _folders(self) -> list[str]:
        """Those that the files are in: others may lie beside them."""
        return [name for name in self.files.folders() if _FOLDER.fullmatch(name)]


def _files(url: str, name: str) -> FolderFiles | RemoteFiles:
    if url.startswith(SCHEMES):
        return S3Files(url, name)
    files, root = open_file_system(url)
    protocols = (files.protocol,) if isinstance(files.protocol, str) else files.protocol
    return FolderFiles(Path(root), name) if "file" in protocols else RemoteFiles(files, root, name)


def _path(sha256: str) -> str:
    return f"{sha256[:2]}/{sha256}"


def _blob_name(entry: FileEntry) -> BlobName | None:
    """None for what is not ours; nobody else's file is ever deleted."""
    is_partial = entry.name.startswith(".") and entry.name.endswith(PARTIAL) and bool(_NAME.match(entry.name, 1))
    if not (is_partial or _NAME.fullmatch(entry.name)):
        return None
    return BlobName(entry.name, is_partial, entry.modified)
