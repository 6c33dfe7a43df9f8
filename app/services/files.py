"""Files that go because their image does, or because it never came to be."""

import logging
from collections.abc import Sequence

from app.errors import StoreUnavailable
from app.services.collection import Collection

__all__ = ["delete_files"]

_log = logging.getLogger(__name__)


def delete_files(collection: Collection, names: Sequence[str]) -> None:
    """Those that no image names. Call with `change` held.

    While somebody copies the files, or where it fails, they are left to the next sweep, which comes soon.
    """
    with collection.file_deletion.allowed() as allowed:
        if not allowed:
            collection.sweep_soon.set()
            return
        try:
            for name in set(names) - collection.repository.images.blobs_named(names):
                collection.file_deletions += 1
                collection.blobs.delete(name)
        except StoreUnavailable as error:
            collection.sweep_soon.set()
            _log.warning("A file of a deleted image could not be removed, the next sweep will: %s", error)
