"""The repairs of `check`, with a collection that is ours."""

from pathlib import Path

from app.errors import MissingFile
from app.operations.backup_folder import BackupFolder
from app.operations.check import Repairs
from app.services.collection import Collection
from app.services.images import read_file
from app.services.jobs import cancel_job
from app.services.thumbnails import make_thumbnail

__all__ = ["repairs_of"]


def repairs_of(collection: Collection, backup: Path | None) -> Repairs:
    """backup: where originals that are gone are looked for. Raises: BrokenBackup."""
    folder = BackupFolder.opened(backup)[0] if backup else None
    return Repairs(
        extract_again=lambda image_id: _extract_again(collection, image_id),
        make_thumbnail=lambda image: make_thumbnail(collection, image),
        cancel_job=lambda job_id: cancel_job(collection, job_id),
        fetch_original=lambda sha256: folder is not None and _fetch(collection, folder, sha256),
    )


def _extract_again(collection: Collection, image_id: str) -> None:
    picture = collection.extractor.decode(read_file(collection, image_id))
    collection.repository.images.replace_features(image_id, collection.extractor.features([picture])[0])
    collection.snapshots.discard()  # its embedding may be of the damaged ones


def _fetch(collection: Collection, folder: BackupFolder, sha256: str) -> bool:
    try:
        with folder.blobs.open(sha256) as file:
            collection.blobs.put(sha256, file.read())
    except MissingFile:
        return False
    return True
