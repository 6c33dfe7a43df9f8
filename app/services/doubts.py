"""Which categories a model doubts: those of images whose nearest neighbours are called otherwise. Numbers only."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["LabelDoubt", "are_copies", "doubts", "squared_distances"]

_NEIGHBOURS = 10  # of an image that are asked what they are called
_LEAST = 5  # with fewer nothing is doubted
_SHARE = 0.7  # of them that agree on another category

_Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelDoubt:
    """An image whose category seems to be wrong, by rows."""

    image: int
    partner: int  # its nearest neighbour of the category that its neighbours say
    label: int  # that category
    share: float  # of its neighbours that have it, 0 to 1


def doubts(points: npt.NDArray[np.float32], labels: _Rows, judged: _Rows) -> list[LabelDoubt]:
    """The surest first. points: embeddings (n, d); labels: (n,), -1 where there is no category; judged: rows (p, 2).

    Copies of an image do not speak about it. An image about which there is a verdict with one of what its neighbours
    say was asked about.
    """
    named = np.flatnonzero(labels >= 0)
    if len(named) <= _LEAST:
        return []
    distances = squared_distances(points[named])
    distances[are_copies(distances)] = np.inf
    count = min(_NEIGHBOURS, len(named) - 1)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :count]
    answered = {(int(one), int(labels[other])) for pair in judged for one, other in (pair, pair[::-1])}
    found = [
        doubt
        for row, near in enumerate(nearest)
        if (doubt := _doubt(int(named[row]), named[near[np.isfinite(distances[row, near])]], labels)) is not None
        and (doubt.image, doubt.label) not in answered
    ]
    return sorted(found, key=lambda doubt: -doubt.share)


def _doubt(image: int, near: _Rows, labels: _Rows) -> LabelDoubt | None:
    """near: rows of neighbours with a category, the nearest first."""
    if len(near) < _LEAST:
        return None
    said, counts = np.unique(labels[near], return_counts=True)
    label, share = int(said[counts.argmax()]), float(counts.max() / len(near))
    if label == labels[image] or share < _SHARE:
        return None
    return LabelDoubt(image, int(near[labels[near] == label][0]), label, share)


def squared_distances(points: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Of all pairs of points (n, d), (n, n), nearly: from a matrix product, which takes no (n, n, d)."""
    centred = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    squares = np.square(centred).sum(axis=1)
    distances: npt.NDArray[np.float64] = np.maximum(squares[:, None] + squares - 2 * centred @ centred.T, 0.0)
    return distances


def are_copies(squared_distances: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Of all pairs (n, n), whether the two are at distance 0, up to rounding: copies, and an image with itself."""
    copies: npt.NDArray[np.bool_] = squared_distances <= 1e-12 * squared_distances.max(initial=0.0)
    return copies
