"""Files that go: because their image does, because it never came to be, or because nobody ever named them.

Between the two, putting a file and naming it in a row, nobody may delete it. Who deletes holds `change` and looks
whether a row names the file. Who adds puts files without holding it, since that takes long; `FileDeletions` tell him,
when he does hold it, whether any file was deleted meanwhile or is being deleted: then he puts his again.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress

from app.errors import StoreUnavailable
from app.records import FileDeletions
from app.services.collection import Collection

__all__ = ["delete_files", "delete_unnamed", "may_be_gone"]

_log = logging.getLogger(__name__)

_AT_ONCE = 16  # files that are deleted while everybody else waits


def delete_files(collection: Collection, names: Sequence[str]) -> None:
    """Those that no image names. Call without `change`, after what unnamed them is committed.

    While somebody copies the files, or where it fails, they are left to the next sweep, which comes soon.
    """
    try:
        delete_unnamed(collection, names)
    except StoreUnavailable as error:
        collection.sweep_soon.set()
        _log.warning("A file of a deleted image could not be removed, the next sweep will: %s", error)


def delete_unnamed(collection: Collection, names: Sequence[str]) -> int | None:
    """The same; returns how many there were. None: somebody copies the files, and a sweep comes soon.

    Raises: StoreUnavailable.
    """
    deleted = 0
    with collection.deleting, collection.file_deletion.allowed() as allowed:
        if not allowed:
            collection.sweep_soon.set()
            return None
        for start in range(0, len(names), _AT_ONCE):
            deleted += _deleted(collection, names[start : start + _AT_ONCE])
    return deleted


def _deleted(collection: Collection, names: Sequence[str]) -> int:
    deletion, images = collection.file_deletion, collection.repository.images
    deletion.begin()
    deleted, has_ended = 0, False
    try:
        with collection.change:
            for name in set(names):
                # One by one: where the database went away meanwhile, others may be writing by now.
                if not images.blobs_named([name]):
                    collection.blobs.delete(name)
                    deleted += 1
            deletion.end()
            has_ended = True
    except BaseException:
        if not has_ended:  # else it may be counted or not, which only `settle` can tell
            with suppress(StoreUnavailable), collection.change:
                deletion.end()
        raise
    return deleted


def may_be_gone(collection: Collection, *before: FileDeletions) -> bool:
    """Whether files that were put after one of `before` was counted may be deleted. Call with `change` held."""
    now = collection.file_deletion.counts()
    return any(each != now or each.begun != each.ended for each in before)
