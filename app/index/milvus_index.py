"""Exact search in Milvus, by which every replica finds at once what was committed.

Milvus's searches lag behind its writes. To wait for these (consistency Strong) takes 200 ms a search, as measured on
2.3.5; one of bounded staleness takes 4 ms and may miss the last five seconds. So changes are written into the database,
in the transaction of the change itself, are fed to Milvus from there (`app.index.milvus_feed`), and stay until every
search of bounded staleness sees them. A search takes them from the database first, scores them itself, and lays them
over what Milvus finds: whoever was told that a picture is stored finds it, however far Milvus is behind. Nothing is
lost while Milvus is away, and nothing that was rolled back gets there.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from app.index.drawing import drawn_ids
from app.index.exact import nearest_exactly, nearest_hits, squared_distances
from app.index.milvus_collection import MOST_RESULTS
from app.index.milvus_collections import MilvusCollections
from app.index.milvus_terms import expression
from app.index.overlay import RecentOverlay
from app.index.rows import check_rows
from app.ports import IndexChanges
from app.records import Approximation, Hit, ImageFilter

__all__ = ["MilvusIndex"]

_IDS_AT_ONCE = 4096  # in one expression

Ids: TypeAlias = npt.NDArray[np.int64]
Embeddings: TypeAlias = npt.NDArray[np.float32]
Known: TypeAlias = Callable[[Ids], npt.NDArray[np.bool_]]


class _TooManyError(Exception):
    """More rows are needed than Milvus gives at once."""


class MilvusIndex:
    """Implements `app.ports.VectorIndex`. Many threads may use it at once."""

    def __init__(self, collections: MilvusCollections, changes: IndexChanges, embedding_dim: int, model_version: str):
        """Makes the collection if it is not there. Raises: StoreUnavailable."""
        self.embedding_dim = embedding_dim
        self.model_version = model_version
        self._changes = changes
        self._recent = RecentOverlay(changes, model_version, embedding_dim)
        self._collection = collections.opened(model_version, embedding_dim)

    @property
    def filters(self) -> bool:
        return True

    @property
    def approximation(self) -> Approximation | None:
        return None

    def __len__(self) -> int:
        """Off by what came in the last seconds while many changes are on their way to Milvus, otherwise exact."""
        overlay = self._recent.now()
        if len(overlay.seqs) > MOST_RESULTS:
            return self._collection.count("") + self._changes.unapplied(self.model_version)
        others = f"seq not in {overlay.seqs.tolist()}" if len(overlay.seqs) else ""
        return self._collection.count(others) + int(overlay.is_put.sum())

    def add(self, ids: Ids, embeddings: Embeddings) -> None:
        check_rows(ids, embeddings, self.embedding_dim)
        if len(ids):
            self._changes.put(self.model_version, ids, embeddings)

    def remove(self, ids: Ids) -> int:
        if len(ids):
            self._changes.remove(ids)
        return len(ids)

    def arrange(self) -> None:
        """Nothing to do: every search looks at all rows."""

    def ids(self) -> Ids:
        overlay = self._recent.now()
        held = self._collection.ids()
        return np.concatenate([held[~overlay.knows(held)], overlay.seqs[overlay.is_put]])

    def sample(self, count: int, rng: np.random.Generator) -> Ids:
        return drawn_ids(count, rng, self._changes.extent(), lambda some: self._rows_of(some)[0], self.ids)

    def sample_rows(self, count: int, rng: np.random.Generator) -> tuple[Ids, Embeddings]:
        drawn = self.sample(count, rng)
        ids, embeddings = self._rows_of(np.sort(drawn))
        order = np.argsort(ids)
        drawn = drawn[np.isin(drawn, ids)]  # one may have been removed meanwhile
        return drawn, embeddings[order][np.searchsorted(ids[order], drawn)]

    def search(self, embedding: Embeddings, k: int, among: Ids | ImageFilter | None = None) -> list[Hit]:
        query = np.ascontiguousarray(embedding, np.float32)
        if k < 1:
            return []
        if isinstance(among, ImageFilter):
            hits = self._filtered(query, k, among)
        elif among is not None:
            hits = self._among_ids(query, k, np.unique(among))
        else:
            hits = self._among_all(query, k)
        return sorted(hits, key=lambda hit: (hit.squared_distance, hit.id))[:k]

    def ping(self) -> None:
        self._collection.nearest(np.zeros(self.embedding_dim, np.float32), 1, "")

    def _among_all(self, query: Embeddings, k: int) -> list[Hit]:
        overlay = self._recent.now()
        return overlay.nearest(query, k) + self._indexed(query, k, "", overlay.knows)

    def _among_ids(self, query: Embeddings, k: int, ids: Ids) -> list[Hit]:
        overlay = self._recent.now()
        hits = overlay.nearest(query, k, ids)
        for start in range(0, len(ids), _IDS_AT_ONCE):
            block = ids[start : start + _IDS_AT_ONCE].tolist()
            hits += self._indexed(query, k, f"seq in {block}", overlay.knows)
        return hits

    def _filtered(self, query: Embeddings, k: int, where: ImageFilter) -> list[Hit]:
        """Milvus filters by what it knows; of images that changed lately, what the database says holds."""
        overlay, changed, matching = self._recent.matching(where)
        # Only their category or metadata changed: Milvus has had their embeddings for long.
        ids, embeddings = self._collection.rows_of(matching[~overlay.knows(matching)])
        hits = overlay.nearest(query, k, matching) + nearest_hits(ids, squared_distances(embeddings, query), k)
        return hits + self._indexed(query, k, expression(where), lambda ids: np.isin(ids, changed))

    def _indexed(self, query: Embeddings, k: int, condition: str, known: Known) -> list[Hit]:
        """The k nearest that Milvus finds under a condition, without those that are known better."""
        fetch = partial(self._fetched, query, known)
        try:
            return nearest_exactly(partial(fetch, condition), query, k, self.embedding_dim)
        except _TooManyError:
            return list(self._in_halves(query, k, condition, known, self._changes.extent()))

    def _in_halves(
        self, query: Embeddings, k: int, condition: str, known: Known, extent: tuple[int, int]
    ) -> Iterator[Hit]:
        """The same where more would have to be fetched than Milvus gives, as of so many copies of a picture: among the
        first half of the seqs, then the second, each halved again if need be."""
        low, high = extent
        middle = (low + high) // 2
        for first, last in ((low, middle), (middle + 1, high)):
            half = f"seq >= {first} and seq <= {last}"
            fetch = partial(self._fetched, query, known, f"({condition}) and {half}" if condition else half)
            try:
                yield from nearest_exactly(fetch, query, k, self.embedding_dim)
            except _TooManyError:
                yield from self._in_halves(query, k, condition, known, (first, last))

    def _fetched(self, query: Embeddings, known: Known, condition: str, limit: int) -> tuple[Ids, Embeddings]:
        """The `limit` nearest under the condition that are not known better, fewer only if there are no more."""
        asked = min(limit, MOST_RESULTS)
        while True:
            ids, embeddings = self._collection.nearest(query, asked, condition)
            wanted = np.flatnonzero(~known(ids))
            if len(ids) < asked or len(wanted) >= limit:
                return ids[wanted[:limit]], embeddings[wanted[:limit]]
            if asked == MOST_RESULTS:
                raise _TooManyError
            asked = min(2 * asked, MOST_RESULTS)

    def _rows_of(self, ids: Ids) -> tuple[Ids, Embeddings]:
        """Those of the ids, each once, that are there, with their embeddings; in no order."""
        overlay = self._recent.now()
        put, embeddings = overlay.rows_of(ids)
        held, others = self._collection.rows_of(ids[~overlay.knows(ids)])
        return np.concatenate([put, held]), np.concatenate([embeddings, others])
