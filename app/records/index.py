"""What an index holds and finds."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Hit", "IndexRows", "NearDuplicate"]


@dataclass(frozen=True)
class IndexRows:
    """What an index holds; by the fingerprints of StoredKeys it can be told from another collection's."""

    ids: npt.NDArray[np.int64]  # (n,)
    fingerprints: npt.NDArray[np.uint64]  # (n,)
    embeddings: npt.NDArray[np.float32]  # (n, d)


@dataclass(frozen=True)
class Approximation:
    """How an index searches where it does not look at everything."""

    lists: int  # that its pictures are divided into, each with those of one neighbourhood
    probed: int  # lists that a search looks at, the nearest first
    recall: float  # share of the ten nearest that it finds, as measured on pictures of its own


@dataclass(frozen=True)
class Hit:
    """One neighbour as the index knows it."""

    id: int
    squared_distance: float


@dataclass(frozen=True)
class NearDuplicate:
    """Two images that are nearly the same to the model, as the index knows them; left < right."""

    left: int
    right: int
    squared_distance: float
