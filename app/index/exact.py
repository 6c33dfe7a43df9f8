"""Exact nearest neighbours from a server that computes distances in float32 and gives only so many of the nearest.

Which of several equally distant rows a server returns is its own affair, and float32 rounds distances that differ into
ones that do not. So more than k are asked for, scored again in float64, and more again until none that was left out
can belong to the k nearest.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from app.records import Hit

__all__ = ["Fetch", "nearest_exactly", "nearest_hits", "squared_distances"]

_SPARE_CANDIDATES = 8  # beyond k; enough for the few ties that real collections have
_FLOAT32 = np.finfo(np.float32)

Ids: TypeAlias = npt.NDArray[np.int64]
Embeddings: TypeAlias = npt.NDArray[np.float32]
Distances: TypeAlias = npt.NDArray[np.float64]
Fetch: TypeAlias = Callable[[int], tuple[Ids, Embeddings]]


def nearest_exactly(fetch: Fetch, query: Embeddings, k: int, embedding_dim: int) -> list[Hit]:
    """The k nearest to a query (d,), nearest first, equal distances in the order of their ids.

    fetch: gives ids (n,), each once, and embeddings (n, d) of at most that many rows, the nearest ones by a distance
    that is the sum of d squares in float32, or grows with it; fewer only if there are no more to search among. Of
    several that are equally far in float32 it may give any.
    """
    if k < 1:
        return []
    limit = k + _SPARE_CANDIDATES
    while True:
        ids, embeddings = fetch(limit)
        distances = squared_distances(embeddings, query)
        if len(ids) < limit or _none_left_out(distances, k, embedding_dim):
            return nearest_hits(ids, distances, k)
        limit *= 2


def nearest_hits(ids: Ids, distances: Distances, k: int) -> list[Hit]:
    """The k >= 1 nearest of n, by their squared distances (n,), then by id; all if there are no more.

    >>> nearest_hits(np.array([7, 5, 2]), np.array([1.0, 1.0, 3.0]), 2)
    [Hit(id=5, squared_distance=1.0), Hit(id=7, squared_distance=1.0)]
    """
    if len(ids) > k:
        near = np.flatnonzero(distances <= np.partition(distances, k - 1)[k - 1])  # to sort few takes less time
        ids, distances = ids[near], distances[near]
    order = np.lexsort((ids, distances))[:k]
    return [Hit(int(ids[i]), float(distances[i])) for i in order]


def squared_distances(embeddings: Embeddings, query: Embeddings) -> Distances:
    """Of each of (n, d) to one (d,), or to its own of (n, d), in float64.

    >>> squared_distances(np.array([[1, 2], [3, 4]], np.float32), np.array([1, 0], np.float32)).tolist()
    [4.0, 20.0]
    """
    differences = embeddings.astype(np.float64) - query  # (n, d)
    distances: Distances = np.square(differences).sum(axis=1)
    return distances


def _none_left_out(distances: Distances, k: int, embedding_dim: int) -> bool:
    """Whether every row that is not among those fetched, of which there are more than k, is farther than the k-th.

    In float32 each of d + 2 operations is off by at most half an ulp, doubled here for safety; what lies below the
    smallest normal number may be taken for 0. The last one fetched is the farthest in float32, so at least as far
    there as the exactly farthest one can be.
    """
    relative_error, underflow = (embedding_dim + 2) * float(_FLOAT32.eps), embedding_dim * float(_FLOAT32.tiny)
    kth_at_most = float(np.partition(distances, k - 1)[k - 1]) * (1 + relative_error) + underflow
    last_at_least = float(distances.max()) * (1 - relative_error) - underflow
    return kth_at_most < last_at_least and kth_at_most < float(_FLOAT32.max)  # beyond it all are equally far
