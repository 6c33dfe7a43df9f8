"""The index and the database agree: brought together at start, compared again by housekeeping."""

import logging

import numpy as np
import numpy.typing as npt

from app.errors import DamagedSnapshot
from app.ports import Repository, Snapshots
from app.records import IndexRows, StoredKeys
from app.services.collection import ActiveModel, Collection

__all__ = ["agreeing", "fill", "reconcile", "save_snapshot"]

_log = logging.getLogger(__name__)

_BLOCK_ROWS = 4096  # images that are embedded at once: 10 MB of float16 features at D = 1280
_FEW = 10_000  # images that are read one by one; above, reading the table from end to end is faster


def fill(repository: Repository, snapshots: Snapshots, active: ActiveModel) -> None:
    """Put every image into an empty index: from the snapshot what is right in it, the rest embedded.

    Call with `change` held, or before anybody else has the index.
    Raises: BadFeatures, StoreUnavailable.
    """
    keys = repository.images.keys()
    if rows := _snapshot(snapshots, active):
        right = agreeing(rows, keys)
        active.index.add(rows.ids[right], rows.embeddings[right])
    _add_missing(repository, active, keys.seqs)


def reconcile(collection: Collection, active: ActiveModel) -> int:
    """Remove from the index what is not in the database and add what is; returns how many it was.

    There is nothing to do unless a change failed between the two. Raises: BadFeatures, StoreUnavailable.
    """
    if not _differ(collection, active):  # asked without holding up anybody
        return 0
    with collection.change:
        seqs = collection.repository.images.keys().seqs
        ids, _ = active.index.rows()
        changes = active.index.remove(np.setdiff1d(ids, seqs)) + _add_missing(collection.repository, active, seqs)
    if changes:
        _log.warning("The index differed from the database in %s images; it agrees again.", changes)
    return changes


def _differ(collection: Collection, active: ActiveModel) -> bool:
    """True also where something was added or deleted between the two looks."""
    ids, _ = active.index.rows()
    return not np.array_equal(np.sort(ids), collection.repository.images.keys().seqs)


def save_snapshot(collection: Collection) -> None:
    """Keep what the index holds now, so that the next start need not embed it. Raises: StoreUnavailable."""
    active = collection.active
    if active is None:
        return
    ids, embeddings = active.index.rows()
    keys = collection.repository.images.keys()  # later: what was deleted meanwhile is left out
    order = np.argsort(ids)
    ids, embeddings = ids[order], embeddings[order]
    stored = np.isin(ids, keys.seqs)
    fingerprints = keys.fingerprints[np.searchsorted(keys.seqs, ids[stored])]
    collection.snapshots.save(active.version, IndexRows(ids[stored], fingerprints, embeddings[stored]))


def _snapshot(snapshots: Snapshots, active: ActiveModel) -> IndexRows | None:
    try:
        return snapshots.read(active.version, active.index.embedding_dim)
    except DamagedSnapshot as error:
        _log.warning("%s: the index is built anew.", error)
        return None


def agreeing(rows: IndexRows, keys: StoredKeys) -> npt.NDArray[np.bool_]:
    """Which rows are of an image that is there, by its number and by its bytes: a restored database may give the same
    number to another one."""
    if not len(keys.seqs):
        return np.zeros(len(rows.ids), bool)
    at = np.minimum(np.searchsorted(keys.seqs, rows.ids), len(keys.seqs) - 1)
    agrees: npt.NDArray[np.bool_] = (keys.seqs[at] == rows.ids) & (keys.fingerprints[at] == rows.fingerprints)
    return agrees


def _add_missing(repository: Repository, active: ActiveModel, seqs: npt.NDArray[np.int64]) -> int:
    ids, _ = active.index.rows()
    missing = np.setdiff1d(seqs, ids)
    images = repository.images
    if len(missing) > _FEW:
        for block in images.feature_blocks(_BLOCK_ROWS, after=int(missing[0]) - 1):
            wanted = np.isin(block.seqs, missing)
            active.index.add(block.seqs[wanted], active.embed(block.features[wanted]))
    else:
        for start in range(0, len(missing), _BLOCK_ROWS):
            block = images.features_of(missing[start : start + _BLOCK_ROWS].tolist())
            if len(block.seqs):
                active.index.add(block.seqs, active.embed(block.features))
    return len(missing)
