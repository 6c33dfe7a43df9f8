"""From the database's table of changes to Milvus, in the order in which they were committed.

What is fed is what is to be, not how it came to be: an embedding is put in the place of whatever was there, a removal
removes what may be gone, category and metadata are those that the image has by now. So a feed that was killed anywhere
is repeated, and what was done twice is as if done once. What happens to an image while it is fed is a later change.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from app.index.milvus_collection import MilvusCollection
from app.index.milvus_collections import MilvusCollections
from app.index.milvus_server import NoCollection
from app.index.milvus_terms import terms_of
from app.ports import IndexChanges
from app.records import Fields, PendingChanges

__all__ = ["feed"]

_REMOVED = "removed"
_WITH_OTHER_FIELDS = "with other fields"  # and the embedding that it has

Embedding = npt.NDArray[np.float32]


def feed(changes: IndexChanges, collections: MilvusCollections, limit: int) -> int:
    """Bring at most `limit` changes to Milvus, the oldest; returns how many are left. One at a time may feed.

    Raises: StoreUnavailable; then some may be there, and the next call brings them again.
    """
    left = 0
    if pending := changes.pending(limit):
        for version, collection in collections.all().items():
            try:
                _bring(collection, _actions(pending, version), pending.fields)
            except NoCollection:
                if version in collections.all():
                    raise
                continue  # it was removed meanwhile: nobody searches it
        left = changes.applied(pending.last)
    changes.purge()
    return left


def _actions(pending: PendingChanges, version: str) -> dict[int, Embedding | str]:
    """What is to become of images in one collection, by seq: what the last change says, if the image is still there."""
    actions: dict[int, Embedding | str] = {}
    for change in pending.changes:
        if change.model_version not in (None, version):
            continue
        if change.kind == "remove" or change.seq not in pending.fields:
            actions[change.seq] = _REMOVED
        elif change.embedding is not None:
            actions[change.seq] = change.embedding
        else:
            actions.setdefault(change.seq, _WITH_OTHER_FIELDS)
    return actions


def _bring(collection: MilvusCollection, actions: Mapping[int, Embedding | str], fields: Mapping[int, Fields]) -> None:
    collection.delete([seq for seq, action in actions.items() if action is _REMOVED])
    _put(collection, {seq: action for seq, action in actions.items() if isinstance(action, np.ndarray)}, fields)
    others = [seq for seq, action in actions.items() if action is _WITH_OTHER_FIELDS]
    if others:
        # As of now: what was put the moment before must not be missed.
        ids, embeddings = collection.rows_of(np.array(others, np.int64), "Strong")
        _put(collection, dict(zip(ids.tolist(), embeddings, strict=True)), fields)


def _put(collection: MilvusCollection, embeddings: Mapping[int, Embedding], fields: Mapping[int, Fields]) -> None:
    if embeddings:
        terms = [terms_of(fields[seq]) for seq in embeddings]
        collection.upsert(list(embeddings), list(embeddings.values()), terms)
