"""`samekind backup` and `samekind restore`: all of a collection into a folder, beside a running service, and back."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from app.errors import MissingFile
from app.operations.backup_folder import BackupFolder
from app.operations.telling import writing_into
from app.ports import Blobs
from app.records import BlobName
from app.services.batches import ADD
from app.services.housekeeping import orphans
from app.store.database import open_database
from app.store.images import SqlImages
from app.store.opened import Store
from app.store.repository import SqlRepository
from app.store.transfer import check_empty, copy_rows, seal

__all__ = ["Report", "back_up", "restore"]


@dataclass(frozen=True)
class Report:
    """What a backup holds, or what was restored."""

    images: int
    missing: Sequence[str]  # for each file that was gone or damaged: whose it is, and what is wrong
    waiting: int = 0  # jobs that were to add uploaded files; a backup has no such files


def back_up(store: Store, path: Path, *, verify: bool = False) -> Report:
    """Copy one state of the collection into a folder; a second time only what is new.

    Until it is done the folder is the earlier backup. Images that are deleted meanwhile are in it, with their files;
    uploaded files that a job has yet to add are not.
    verify: read the files of an earlier backup again, and replace those that are damaged.
    Raises: NotEmpty, BrokenBackup, CannotStart, DataFolderInUse, StoreUnavailable.
    """
    with writing_into(path), BackupFolder.prepared_for_writing(path) as folder:
        database = folder.new_database()
        try:
            with store.file_deletion.paused(), open_database(database, f"The backup in {path}") as copy:
                copy_rows(store.database, copy)
                images, jobs = SqlRepository(copy).images, SqlRepository(copy).jobs
                report = _copy_files(images, store.blobs, folder.blobs, verify=verify, what="backup")
                report = replace(report, waiting=len(jobs.unfinished(ADD)))
                old = _old_files(images, folder.blobs)
            seal(database)
            folder.finish(database, report.images, len(report.missing))
        finally:
            folder.remove_other_databases()
        for blob in old:
            (folder.blobs.delete_partial if blob.is_partial else folder.blobs.delete)(blob.name)
    return report


def restore(store: Store, path: Path) -> Report:
    """Copy a backup into an empty collection that we own. Killed, it is begun again as if it had not been.

    Raises: BrokenBackup, NotEmpty, CannotStart, StoreUnavailable.
    """
    with writing_into(store.data_dir), _room_of(store) as room:
        folder, database = BackupFolder.opened(path)
        check_empty(store.database)
        with _copied(database, room) as copied, open_database(copied) as rows:  # an older one is migrated
            images = SqlRepository(rows).images
            report = _copy_files(images, folder.blobs, store.blobs, verify=True, what="restore")
            copy_rows(rows, store.database)
    return report


def _copy_files(images: SqlImages, source: Blobs, target: Blobs, *, verify: bool, what: str) -> Report:
    missing = []
    total = len(images.keys().seqs)
    for image in tqdm(images.all(), desc=what, total=total, unit="image", disable=not total):
        for name in image.files:
            if verify or not target.holds(name):
                missing += [f"image {image.id}: {problem}" for problem in _copy_file(source, target, name)]
    return Report(total, missing)


def _copy_file(source: Blobs, target: Blobs, name: str) -> Iterator[str]:
    """What is wrong with the source, if anything is."""
    try:
        with source.open(name) as file:
            target.put(name, file.read())
    except MissingFile as error:
        yield str(error)


def _old_files(images: SqlImages, blobs: Blobs) -> list[BlobName]:
    """What lies there of an earlier backup only."""
    old = []
    for names in blobs.listing():
        unnamed, unfinished = (set(some) for some in orphans(images, names))
        old += [blob for blob in names if blob.name in unnamed | unfinished]
    return old


@contextmanager
def _room_of(store: Store) -> Iterator[Path]:
    """The data folder, where there is one: replicas have none."""
    if store.data_dir.is_dir():
        yield store.data_dir
        return
    with tempfile.TemporaryDirectory(prefix="samekind-") as folder:
        yield Path(folder)


@contextmanager
def _copied(database: Path, folder: Path) -> Iterator[Path]:
    """A copy that may be migrated: the backup itself is not changed by being restored."""
    copy = folder / "restoring.db"  # always the same: what a killed run left is overwritten and removed
    try:
        _remove(copy)
        shutil.copyfile(database, copy)
        yield copy
    finally:
        _remove(copy)


def _remove(database: Path) -> None:
    """With SQLite's files beside it."""
    for file in database.parent.glob(f"{database.name}*"):
        file.unlink()
