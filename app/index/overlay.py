"""What changed lately, laid over an index whose searches may not see it yet.

The changes lie in the database until every search of the index sees them. Whoever searches takes these first, so
whatever the index does not know of them is known here, and asks the index afterwards.
"""

from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from app.index.exact import nearest_hits, squared_distances
from app.ports import IndexChanges
from app.records import Hit, ImageFilter, RecentChanges

__all__ = ["Overlay", "RecentOverlay"]

_ROWS_AT_ONCE = 65_536  # that are scored: 8 MB of float64 at d = 16

Seqs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Overlay:
    """The last put or removal of each image that has one, by seq."""

    newest: int  # number of the last change that was read
    seqs: Seqs  # (n,), in their order
    numbers: npt.NDArray[np.int64]  # (n,) of the changes
    is_put: npt.NDArray[np.bool_]  # (n,); the others are removed
    embeddings: npt.NDArray[np.float32]  # (n, d); of those removed 0

    @classmethod
    def empty(cls, embedding_dim: int) -> "Overlay":
        none = np.empty(0, np.int64)
        return cls(0, none, none, np.empty(0, bool), np.empty((0, embedding_dim), np.float32))

    def knows(self, ids: Seqs) -> npt.NDArray[np.bool_]:
        """Which of the ids (n,) are put or removed here, whatever the index says."""
        if not len(self.seqs):
            return np.zeros(len(ids), bool)
        at = np.minimum(np.searchsorted(self.seqs, ids), len(self.seqs) - 1)
        known: npt.NDArray[np.bool_] = self.seqs[at] == ids
        return known

    def rows_of(self, ids: Seqs) -> tuple[Seqs, npt.NDArray[np.float32]]:
        """Those of the ids that are put here, and their embeddings."""
        rows = np.flatnonzero(self.is_put & np.isin(self.seqs, ids))
        return self.seqs[rows], self.embeddings[rows]

    def nearest(self, query: npt.NDArray[np.float32], k: int, among: Seqs | None = None) -> list[Hit]:
        """Hits with the k nearest of those put here, if they are among some; in no order."""
        chosen = self.is_put if among is None else self.is_put & np.isin(self.seqs, among)
        hits: list[Hit] = []
        for start in range(0, len(self.seqs), _ROWS_AT_ONCE):
            rows = start + np.flatnonzero(chosen[start : start + _ROWS_AT_ONCE])
            hits += nearest_hits(self.seqs[rows], squared_distances(self.embeddings[rows], query), k)
        return hits

    def with_changes(self, recent: RecentChanges) -> "Overlay":
        """These without those that are kept no more, and newer ones in the place of older ones."""
        kept = self.numbers >= recent.oldest
        if kept.all() and not len(recent.numbers):
            return Overlay(recent.newest, self.seqs, self.numbers, self.is_put, self.embeddings)
        seqs, numbers, is_put, embeddings = (
            np.concatenate([old[kept], new])
            for old, new in (
                (self.seqs, recent.seqs),
                (self.numbers, recent.numbers),
                (self.is_put, recent.is_put),
                (self.embeddings, recent.embeddings),
            )
        )
        # Older ones come first, so in reversed order the first of each seq is its last.
        order = len(seqs) - 1 - np.unique(seqs[::-1], return_index=True)[1]
        return Overlay(recent.newest, seqs[order], numbers[order], is_put[order], embeddings[order])


class RecentOverlay:
    """Of one model's index. Keeps what it has read: a search reads only what came since the one before."""

    def __init__(self, changes: IndexChanges, model_version: str, embedding_dim: int):
        self._changes = changes
        self._model_version = model_version
        self._embedding_dim = embedding_dim
        self._read = Overlay.empty(embedding_dim)
        self._keeping = Lock()

    def now(self) -> Overlay:
        """As of this moment."""
        return self._brought_up(None)[0]

    def matching(self, where: ImageFilter) -> tuple[Overlay, Seqs, Seqs]:
        """The same; the seqs of images that changed in any way; and those of them that the filter lets through."""
        overlay, recent = self._brought_up(where)
        if recent.changed is None or recent.matching is None:
            raise AssertionError("They were asked for.")
        return overlay, recent.changed, recent.matching

    def _brought_up(self, where: ImageFilter | None) -> tuple[Overlay, RecentChanges]:
        known = self._read  # several threads may read the same changes: none waits for another
        recent = self._changes.recent(self._model_version, self._embedding_dim, after=known.newest, where=where)
        overlay = known.with_changes(recent)
        if recent.is_committed:
            with self._keeping:
                if overlay.newest >= self._read.newest:
                    self._read = overlay
        return overlay, recent
