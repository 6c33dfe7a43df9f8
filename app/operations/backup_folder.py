"""A backup on disk: backup.json, which says what is whole, one SQLite file with every row, and the files.

A backup of PostgreSQL is a SQLite file too, so that either engine restores what the other one held.
"""

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from app.errors import BrokenBackup, DataFolderInUse, NotEmpty
from app.store.blobs import FsspecBlobs
from embedding import __version__
from embedding.durable import write_whole

__all__ = ["BackupFolder", "Manifest"]

_FORMAT = 1


@dataclass(frozen=True)
class Manifest:
    """What backup.json says."""

    database: str | None  # name of the SQLite file; None: the first backup into this folder was not finished
    sha256: str | None  # of that file
    images: int = 0
    missing: int = 0  # files that were gone or damaged already when the backup was made
    format: int = _FORMAT
    created: str = ""
    version: str = __version__


class BackupFolder:
    """The folder of a backup; made by `prepared_for_writing`, read by `opened`."""

    def __init__(self, path: Path):
        self.path = path
        self.blobs = FsspecBlobs(path.absolute() / "blobs", f"The backup in {path}")

    @property
    def _manifest(self) -> Path:
        return self.path / "backup.json"

    @classmethod
    @contextmanager
    def prepared_for_writing(cls, path: Path) -> Iterator["BackupFolder"]:
        """A new folder, an empty one, or one of an earlier backup; nobody else writes into it while the block runs.

        Raises: NotEmpty, BrokenBackup, DataFolderInUse, StoreUnavailable.
        """
        folder = cls(path)
        if not folder._manifest.is_file():
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise NotEmpty(f"{path} is no backup and not empty: name a new folder, or that of an earlier backup.")
            folder.write_manifest(Manifest(None, None))
        try:
            with FileLock(path / "backup.lock").acquire(timeout=0):
                folder.remove_other_databases()  # which refuses a newer program's backup
                folder.blobs.prepare(is_new=True)
                yield folder
        except Timeout as error:
            raise DataFolderInUse(f"Another backup into {path} is under way: wait for it.") from error

    @classmethod
    def opened(cls, path: Path) -> tuple["BackupFolder", Path]:
        """An earlier backup and its database file, whose checksum is right. Raises: BrokenBackup."""
        folder = cls(path)
        manifest = folder.manifest()
        if manifest.database is None:
            raise BrokenBackup(f"The backup in {path} was never finished: make it again, or name another.")
        file = path / manifest.database
        if not file.is_file() or _sha256(file) != manifest.sha256:
            raise BrokenBackup(f"The database {file} of the backup is gone or damaged: use another backup.")
        return folder, file

    def manifest(self) -> Manifest:
        """Raises: BrokenBackup."""
        try:
            fields: Mapping[str, Any] = json.loads(self._manifest.read_text(encoding="utf-8"))
            if fields["format"] > _FORMAT:
                raise BrokenBackup(
                    f"The backup in {self.path} has format {fields['format']}, this program knows up to {_FORMAT}: use "
                    "the program that made it, or a later one."
                )
            return Manifest(**fields)
        except FileNotFoundError as error:
            raise BrokenBackup(f"{self.path} is no backup: it has no backup.json.") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BrokenBackup(f"{self._manifest} cannot be read ({error}): use another backup.") from error

    def write_manifest(self, manifest: Manifest) -> None:
        write_whole(self._manifest, json.dumps(asdict(manifest), indent=2).encode() + b"\n")

    def new_database(self) -> Path:
        """Where the rows of this backup go."""
        return self.path / f"database-{uuid.uuid4().hex}.db"

    def remove_other_databases(self) -> None:
        """Of earlier backups, and of those that broke off: all but the one that the manifest names."""
        named = self.manifest().database
        for file in self.path.glob("database-*"):
            if file.name != named:
                file.unlink()

    def finish(self, database: Path, images: int, missing: int) -> Manifest:
        """From now on the folder is this backup; what belonged to an earlier one only may go."""
        manifest = Manifest(database.name, _sha256(database), images, missing, created=datetime.now(UTC).isoformat())
        self.write_manifest(manifest)
        return manifest


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
