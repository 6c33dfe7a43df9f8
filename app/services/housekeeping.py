"""What has to be done once in a while: files that nobody names, expired queries, old jobs, models, the snapshot."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.ports import Images
from app.records import BlobName
from app.services.collection import Collection
from app.services.files import delete_unnamed
from app.services.indexing import reconcile, save_snapshot
from app.services.jobs import discard_strays, forget_old_jobs
from app.services.kept import purge_queries
from app.services.pruning import prune_models
from app.services.reextraction import forget_needless_features
from app.services.shared_indexes import tidy_indexes

__all__ = ["YOUNG_S", "Swept", "keep_house", "orphans", "sweep"]

_log = logging.getLogger(__name__)

YOUNG_S = 60.0  # a file that is named by no image yet may be, within that time; until then it is left alone


@dataclass(frozen=True)
class Swept:
    """What a sweep removed."""

    files: int  # whole ones that no image names
    partial: int  # left by writers that were killed


def keep_house(collection: Collection, started: float, stopped: Callable[[], bool]) -> None:
    """All of it; started: when this process did, in seconds since 1970; stopped: whether to leave off.

    Raises: StoreUnavailable, BadFeatures.
    """
    collection.file_deletion.settle()
    swept = sweep(collection, before=max(started, time.time() - YOUNG_S), stopped=stopped)
    if stopped():
        return
    if swept and (swept.files or swept.partial):
        _log.info("Removed %s files that no image names and %s unfinished ones.", swept.files, swept.partial)
    purge_queries(collection)
    forget_old_jobs(collection)
    if collection.shared:  # one process alone does so at its start
        discard_strays(collection)
    prune_models(collection)
    forget_needless_features(collection)
    tidy_indexes(collection)
    if collection.active:
        reconcile(collection, collection.active)
        # There is one, of one model: its former content may be of a model that is gone, or of images that are.
        save_snapshot(collection)
        collection.active.index.arrange()
    collection.repository.forget_deleted()


def sweep(
    collection: Collection, before: float = math.inf, stopped: Callable[[], bool] = lambda: False
) -> Swept | None:
    """Remove every file that no image names and every unfinished one, of those last changed before (s since 1970).

    Later ones may be about to be named. None: somebody copies the files, so that none may be removed.
    Raises: StoreUnavailable.
    """
    files = partial = 0
    for names in collection.blobs.listing():
        unnamed, unfinished = orphans(collection.repository.images, names, before)
        if stopped():
            break
        if not unnamed and not unfinished:
            continue
        deleted = delete_unnamed(collection, unnamed)
        if deleted is None:
            return None
        for name in unfinished:
            collection.blobs.delete_partial(name)
        files, partial = files + deleted, partial + len(unfinished)
    return Swept(files, partial)


def orphans(images: Images, names: Sequence[BlobName], before: float = math.inf) -> tuple[list[str], list[str]]:
    """Of what lies in the blob store and is old enough: whole files that no image names, and unfinished ones."""
    old = [blob for blob in names if blob.modified is None or blob.modified < before]
    whole = [blob.name for blob in old if not blob.is_partial]
    named = images.blobs_named(whole)
    return [name for name in whole if name not in named], [blob.name for blob in old if blob.is_partial]
