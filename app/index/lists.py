"""Inverted lists over the rows of a flat index: neighbourhoods, so that a search need not look at everything.

The rows lie in the order of their lists, so that a list is a range of rows, and the lists together are one array of
boundaries. Rows that were added since are behind them, in no list; every search looks at those.

Sivic and Zisserman, Video Google, ICCV 2003, for the idea; Jegou et al., Product quantization for nearest neighbor
search, PAMI 2011, for coarse centroids of k-means and probing the nearest few.
"""

from dataclasses import dataclass, replace
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

__all__ = ["InvertedLists", "chosen_probes", "nearest_list", "trained"]

_LISTS = 4  # times the square root of the number of rows: about as many rows in the lists probed as there are lists
_ROWS_A_LIST = 64  # that k-means is given; more makes no better lists
_ITERATIONS = 10
_SEED = 1234
_MOST_GROWTH = 3  # times what the centroids were found for, or as many times less; then others are found
_BLOCK_ROWS = 65_536
_QUERIES = 400  # that recall is measured with
_NEIGHBOURS = 10  # of each

Embeddings = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class InvertedLists:
    """Which rows are near which centroid."""

    centroids: Any  # FAISS's flat index of them
    bounds: Rows  # (lists + 1,): list j is the rows from bounds[j] up to bounds[j + 1]
    trained_on: int  # how many rows there were when the centroids were found
    probed: int
    recall: float

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def listed(self) -> int:
        """How many rows are in lists."""
        return int(self.bounds[-1])

    def suit(self, count: int) -> bool:
        """Whether their centroids do for that many rows."""
        return self.trained_on / _MOST_GROWTH <= count <= self.trained_on * _MOST_GROWTH

    def near(self, query: Embeddings, count: int) -> Rows:
        """Of `count` rows, those that a search for a query (d,) looks at, each once."""
        _, lists = self.centroids.search(query[None], self.probed)
        ranges = [np.arange(self.bounds[j], self.bounds[j + 1]) for j in lists[0]]
        return np.concatenate([*ranges, np.arange(self.listed, count)])

    def without(self, rows: Rows) -> "InvertedLists":
        """What is left when those rows, in ascending order, go and the others close up."""
        return replace(self, bounds=self.bounds - np.searchsorted(rows, self.bounds))


def trained(embeddings: Embeddings) -> Any:
    """Centroids for that many embeddings (n, d), by k-means on some of them; the same each time."""
    count, d = embeddings.shape
    lists = min(round(_LISTS * count**0.5), count)
    python: Any = faiss
    kmeans = python.Kmeans(
        d, lists, niter=_ITERATIONS, seed=_SEED, min_points_per_centroid=1, max_points_per_centroid=_ROWS_A_LIST
    )
    kmeans.train(embeddings)
    return kmeans.index


def nearest_list(centroids: Any, embeddings: Embeddings) -> Rows:
    """Of each embedding (n, d) -> (n,)."""
    nearest = np.empty(len(embeddings), np.int64)
    for start in range(0, len(embeddings), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        nearest[block] = centroids.search(embeddings[block], 1)[1][:, 0]
    return nearest


def chosen_probes(lists: InvertedLists, flat: Any, wanted_recall: float) -> InvertedLists:
    """The least number of lists in which that share of the ten nearest others lies, of some of the rows as queries.

    flat: FAISS's index of the rows. A wanted recall of 1 takes all lists.
    """
    count = flat.ntotal
    rows = np.random.default_rng(_SEED).choice(count, min(_QUERIES, count), replace=False)
    queries = flat.reconstruct_batch(rows)
    _, neighbours = flat.search(queries, min(_NEIGHBOURS + 1, count))  # one more: a row is the nearest to itself
    _, order = lists.centroids.search(queries, len(lists))
    in_list = np.searchsorted(lists.bounds, neighbours, side="right") - 1
    rank_of_list = np.argsort(order, axis=1)
    ranks = np.sort(np.take_along_axis(rank_of_list, in_list, axis=1)[neighbours != rows[:, None]])
    if wanted_recall >= 1 or not len(ranks):
        return replace(lists, probed=len(lists), recall=1.0)
    probed = int(ranks[int(np.ceil(wanted_recall * len(ranks))) - 1]) + 1
    return replace(lists, probed=probed, recall=float((ranks < probed).mean()))
