"""The index and the database agree: brought together at start, compared again by housekeeping."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from app.errors import DamagedSnapshot
from app.ports import Images, MemoryIndex, NextFeatures, Repository, Snapshots
from app.records import FeatureBlock, IndexRows, StoredKeys
from app.services.collection import ActiveModel, Collection

__all__ = ["Looked", "agreeing", "bring_up", "catch_up", "embed_again", "fill", "reconcile", "save_snapshot"]

_log = logging.getLogger(__name__)

_BLOCK_ROWS = 4096  # images that are embedded at once: 10 MB of float16 features at D = 1280
_FEW = 10_000  # images that are read one by one; above, reading the table from end to end is faster


class Looked(NamedTuple):
    """What a look at all images came to."""

    changes: int  # images that were added to the index or removed from it
    last: int  # the greatest seq that there was


def fill(repository: Repository, snapshots: Snapshots, active: ActiveModel) -> None:
    """Put into an empty index what is right in the snapshot; `bring_up` adds the rest.

    Raises: StoreUnavailable.
    """
    if rows := _snapshot(snapshots, active):
        right = agreeing(rows, repository.images.keys())
        active.index.add(rows.ids[right], rows.embeddings[right])


def bring_up(
    repository: Repository,
    active: ActiveModel,
    indexed: Callable[[int], None],
    features: Images | NextFeatures | None = None,
) -> Looked:
    """Remove from an index what is not in the database and add what is.

    Call with `change` held, or before anybody else has the index; then it may be behind again when this returns. One
    that replicas share takes it at any time: it passes over images that are gone.
    indexed: told how many images the index holds, between blocks of them; what it raises ends the work.
    features: where they are read from, if not with the images.
    Raises: BadFeatures, StoreUnavailable.
    """
    ids = active.index.ids()
    seqs = repository.images.keys().seqs  # later, so that none of those that are missing here was only just added there
    gone = np.setdiff1d(ids, seqs)
    missing = np.setdiff1d(seqs, ids)
    active.index.remove(gone)
    held = len(ids) - len(gone)
    _add(features or repository.images, active, missing, lambda added: indexed(held + added))
    return Looked(len(gone) + len(missing), int(seqs[-1]) if len(seqs) else 0)


def embed_again(repository: Repository, active: ActiveModel, indexed: Callable[[int], None]) -> None:
    """Replace every embedding of an index that replicas share. Raises: as `bring_up`."""
    _add(repository.images, active, repository.images.keys().seqs, indexed)
    bring_up(repository, active, indexed)


def catch_up(
    repository: Repository,
    active: ActiveModel,
    last: int,
    deleted: Sequence[int],
    features: Images | NextFeatures | None = None,
) -> None:
    """The same with what changed since a look: images of a seq above `last` came, those deleted went.

    Call with `change` held. Raises: BadFeatures, StoreUnavailable.
    """
    active.index.remove(np.array(deleted, np.int64))
    _add(features or repository.images, active, repository.images.seqs_after(last), lambda _: None)


def reconcile(collection: Collection, active: ActiveModel) -> int:
    """Remove from the index what is not in the database and add what is; returns how many it was.

    There is nothing to do unless a change failed between the two. Raises: BadFeatures, StoreUnavailable.
    """
    if not _differ(collection, active):  # asked without holding up anybody
        return 0
    if collection.shared:
        changes = bring_up(collection.repository, active, indexed=lambda _: None).changes
        collection.fed_soon.set()
    else:
        changes = _reconciled_alone(collection, active)
    if changes:
        _log.warning("The index differed from the database in %s images; it agrees again.", changes)
    return changes


def _reconciled_alone(collection: Collection, active: ActiveModel) -> int:
    with collection.change:
        if collection.active is not active:  # another model took over meanwhile
            return 0
        return bring_up(collection.repository, active, indexed=lambda _: None).changes


def _differ(collection: Collection, active: ActiveModel) -> bool:
    """True also where something was added or deleted between the two looks."""
    ids = active.index.ids()
    return not np.array_equal(np.sort(ids), collection.repository.images.keys().seqs)


def save_snapshot(collection: Collection) -> None:
    """Keep what the index holds now, so that the next start need not embed it. Raises: StoreUnavailable."""
    active = collection.active
    if active is None or collection.shared:  # which outlives the process by itself
        return
    ids, embeddings = cast(MemoryIndex, active.index).rows()
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


def _add(
    features: Images | NextFeatures,
    active: ActiveModel,
    seqs: npt.NDArray[np.int64],
    added: Callable[[int], None],
) -> None:
    """Embed those images and add them; added: told how many it were so far, between blocks."""
    count = 0
    for block in _blocks(features, seqs):
        if len(block.seqs):
            active.index.add(block.seqs, active.embed(block.features))
        count += len(block.seqs)
        added(count)


def _blocks(features: Images | NextFeatures, seqs: npt.NDArray[np.int64]) -> Iterator[FeatureBlock]:
    if len(seqs) > _FEW:
        for block in features.feature_blocks(_BLOCK_ROWS, after=int(seqs[0]) - 1):
            wanted = np.isin(block.seqs, seqs)
            yield FeatureBlock(block.seqs[wanted], block.features[wanted])
    else:
        for start in range(0, len(seqs), _BLOCK_ROWS):
            yield features.features_of(seqs[start : start + _BLOCK_ROWS].tolist())
