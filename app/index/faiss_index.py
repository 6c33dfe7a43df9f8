"""Exact search in memory with FAISS: IndexIDMap over IndexFlatL2, 4 d + 8 bytes a picture.

Why not IndexIDMap2: its id -> row table takes 50 bytes a picture more and is rebuilt at each removal (measured at one
million pictures, d = 16: 116 against 72 bytes, a removal 61 against 12 ms). What it is for, reading a vector back by
id, is not needed: re-scoring knows rows.

Traps that this module is built around:

- FAISS takes an id twice in silence. Here an id that is present is replaced.
- For many queries in one call (from 20 on in older versions, from n d = 128,000 on in 1.15) FAISS computes
  |x|^2 + |y|^2 - 2xy, which cancels. Queries go to it one by one, where it sums (x - y)^2 in float32, and the nearest
  are scored again in float64.
- A search among some of the rows gives FAISS their numbers (IDSelectorArray), of which its flat index looks at those
  rows only. Measured at one million pictures, d = 16: 20,000 take 0.4 ms, 200,000 take 7 ms; by bitmap 4 and 14 ms. A
  range search does not know that way: it would go through the numbers for every row.
- It divides queries among threads, not the rows of one: `app.index.scan` does, for large collections.
- Which of several equally distant neighbours FAISS returns is its own affair. Candidates are therefore taken until none
  that was left out can belong to the K nearest.
"""

from collections.abc import Iterator
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from app.index.exact import squared_distances
from app.index.locks import ReadersWriterLock
from app.index.rows import check_rows
from app.index.scan import nearest_rows
from app.ports import Among
from app.records import Approximation, Hit, ImageFilter, NearDuplicate

__all__ = ["FaissIndex"]

_SPARE_CANDIDATES = 8  # beyond K; enough for the few ties that real collections have
_FEW = 20_000  # rows that are scored one by one faster than FAISS finds those within a distance by a bitmap
_ROWS_COMPARED = 256  # with all others at once, where pairs are looked for
_FLOAT32 = np.finfo(np.float32)


class FaissIndex:
    """Implements `app.ports.MemoryIndex`. Many threads may search at once; a change waits for them."""

    def __init__(self, embedding_dim: int, model_version: str):
        self.embedding_dim = embedding_dim
        self.model_version = model_version
        self._flat: Any = faiss.IndexFlatL2(embedding_dim)
        self._map: Any = faiss.IndexIDMap(self._flat)
        self._greatest_id = np.iinfo(np.int64).min
        self._lock = ReadersWriterLock()
        # FAISS sums d squares in float32; each of d + 2 operations is off by at most half an ulp. Doubled for safety.
        self._relative_error = float((embedding_dim + 2) * _FLOAT32.eps)
        self._underflow = float(embedding_dim * _FLOAT32.tiny)

    def __len__(self) -> int:
        return int(self._map.ntotal)

    def add(self, ids: npt.NDArray[np.int64], embeddings: npt.NDArray[np.float32]) -> None:
        check_rows(ids, embeddings, self.embedding_dim)
        if not len(ids):
            return
        with self._lock.writing():
            self._put(ids, embeddings)

    def remove(self, ids: npt.NDArray[np.int64]) -> int:
        if not len(ids):
            return 0
        with self._lock.writing():
            return self._forget(np.ascontiguousarray(ids, np.int64))

    def ping(self) -> None:
        """It is in this process."""

    @property
    def filters(self) -> bool:
        return False

    def arrange(self) -> None:
        """Nothing to do: every search looks at all rows."""

    @property
    def approximation(self) -> Approximation | None:
        return None

    def ids(self) -> npt.NDArray[np.int64]:
        with self._lock.reading():
            return self._all_ids().copy() if len(self) else np.empty(0, np.int64)

    def rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        with self._lock.reading():
            if not len(self):
                return np.empty(0, np.int64), np.empty((0, self.embedding_dim), np.float32)
            return self._all_ids().copy(), self._all_embeddings().copy()

    def sample(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        with self._lock.reading():
            if not len(self):
                return np.empty(0, np.int64)
            return self._all_ids()[self._drawn(count, rng)]

    def sample_rows(
        self, count: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        with self._lock.reading():
            if not len(self):
                return np.empty(0, np.int64), np.empty((0, self.embedding_dim), np.float32)
            drawn = self._drawn(count, rng)
            return self._all_ids()[drawn], self._all_embeddings()[drawn]

    def search(self, embedding: npt.NDArray[np.float32], k: int, among: Among | None = None) -> list[Hit]:
        if isinstance(among, ImageFilter):
            raise TypeError("An index in memory knows no filters: give the ids that they let through.")
        query = np.ascontiguousarray(embedding, np.float32)
        with self._lock.reading():
            chosen = None if among is None else self._rows_of(among)
            k = min(k, len(self) if chosen is None else len(chosen))
            if k < 1:
                return []
            rows, squared_distances = self._candidates(query, k, chosen)
            ids = self._all_ids()[rows]  # a copy: the view dies with the lock
        order = np.lexsort((ids, squared_distances))[:k]
        return [Hit(int(ids[i]), float(squared_distances[i])) for i in order]

    def near_duplicates(self, max_squared_distance: float) -> Iterator[NearDuplicate]:
        ids, embeddings = self.rows()
        order = np.argsort(ids)
        ids, embeddings = ids[order], embeddings[order]
        flat = faiss.IndexFlatL2(self.embedding_dim)  # of its own: nobody waits meanwhile
        flat.add(embeddings)
        # Many queries at once are computed as |x|^2 + |y|^2 - 2xy, which is off by some ulps of the greatest |x|^2.
        greatest = float(np.square(embeddings, dtype=np.float64).sum(axis=1).max(initial=0.0))
        within = self._in_float32(max_squared_distance) + 8 * self._relative_error * greatest
        for start in range(0, len(ids), _ROWS_COMPARED):
            rows, others = _later_pairs(flat, embeddings, start, within)
            exact = squared_distances(embeddings[others], embeddings[rows])
            for i in np.flatnonzero(exact <= max_squared_distance):
                yield NearDuplicate(int(ids[rows[i]]), int(ids[others[i]]), float(exact[i]))

    def _candidates(
        self, query: npt.NDArray[np.float32], k: int, chosen: npt.NDArray[np.int64] | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Rows that contain the k nearest and all their ties, with exact squared distances; in no order.

        chosen: the rows to search among, each once, None for all; there are k of them.
        """
        count = len(self) if chosen is None else len(chosen)
        if chosen is None:
            found, rows = nearest_rows(self._all_embeddings(), query, min(k + _SPARE_CANDIDATES, count))
        else:
            distances, labels = self._flat.search(
                query[None], min(k + _SPARE_CANDIDATES, count), params=_listed(chosen)
            )
            found, rows = distances[0], labels[0][labels[0] >= 0]  # FAISS fills up with -1
        exact = squared_distances(self._all_embeddings()[rows], query)
        radius = self._in_float32(np.partition(exact, k - 1)[k - 1])
        if len(rows) == count or found[-1] > radius:
            return rows, exact
        if chosen is not None and count <= _FEW:
            return chosen, squared_distances(self._all_embeddings()[chosen], query)
        beyond = float(np.nextafter(np.float32(radius), np.float32(np.inf)))
        marked = None if chosen is None else _marked(chosen, len(self))
        _, _, rows = self._flat.range_search(query[None], beyond, params=marked)
        return rows, squared_distances(self._all_embeddings()[rows], query)

    def _put(self, ids: npt.NDArray[np.int64], embeddings: npt.NDArray[np.float32]) -> None:
        """Call with the lock held, as the one below."""
        if ids.min() <= self._greatest_id:  # ids mostly grow, so the full pass is rare
            self._forget(ids)
        self._map.add_with_ids(np.ascontiguousarray(embeddings, np.float32), ids)
        self._greatest_id = max(self._greatest_id, int(ids.max()))

    def _forget(self, ids: npt.NDArray[np.int64]) -> int:
        return int(self._map.remove_ids(ids))  # the others stay in their order

    def _in_float32(self, squared_distance: float) -> float:
        """The greatest value that FAISS may compute for a vector at this exact distance or nearer."""
        return squared_distance * (1 + self._relative_error) + self._underflow

    def _drawn(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """That many rows at random, or all."""
        return rng.choice(len(self), min(count, len(self)), replace=False)

    def _rows_of(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The rows of those of the ids that are there, in the order of rows."""
        if not len(self):
            return np.empty(0, np.int64)
        return np.flatnonzero(np.isin(self._all_ids(), ids))

    def _all_embeddings(self) -> npt.NDArray[np.float32]:
        """FAISS's own memory, (N, d), not a copy: valid until the next change."""
        count = len(self) * self.embedding_dim
        return _view(self._flat.get_xb(), count).reshape(-1, self.embedding_dim)

    def _all_ids(self) -> npt.NDArray[np.int64]:
        """As above, (N,)."""
        return _view(self._map.id_map.data(), len(self))


def _later_pairs(
    flat: Any, embeddings: npt.NDArray[np.float32], start: int, within: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows from `start` on, and the rows after each that FAISS finds within a squared distance; in order."""
    limits, _, found = flat.range_search(embeddings[start : start + _ROWS_COMPARED], within)
    rows = start + np.repeat(np.arange(len(limits) - 1), np.diff(limits.astype(np.int64)))
    later = found > rows
    rows, others = rows[later], found[later]
    order = np.lexsort((others, rows))
    return rows[order], others[order]


def _listed(rows: npt.NDArray[np.int64]) -> Any:
    """FAISS's parameters of a search for the nearest among those rows."""
    python: Any = faiss  # its stubs describe the constructors of C++
    return python.SearchParameters(sel=python.IDSelectorArray(rows))


def _marked(rows: npt.NDArray[np.int64], count: int) -> Any:
    """The same of a range search; count: how many rows there are."""
    is_chosen = np.zeros(count, bool)
    is_chosen[rows] = True
    python: Any = faiss
    return python.SearchParameters(sel=python.IDSelectorBitmap(np.packbits(is_chosen, bitorder="little")))


def _view(pointer: Any, count: int) -> npt.NDArray[Any]:
    view: npt.NDArray[Any] = faiss.rev_swig_ptr(pointer, count)
    return view
