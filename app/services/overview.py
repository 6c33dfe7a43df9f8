"""The collection at a glance: its categories, and a map of it.

A map is made of some of the images where there are many: they are drawn evenly at random, always the same as long as
nothing is added or deleted. Their embeddings come from the index, so the map is of one model.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.errors import BadLimit, shown
from app.records import CategoryCounts, ImageLabel
from app.services.collection import Collection
from app.services.following import current_model

__all__ = ["MAX_CATEGORIES", "MAX_POINTS", "CollectionMap", "Point", "categories", "collection_map", "plane"]

MAX_CATEGORIES = 10_000
MAX_POINTS = 10_000
_SEED = 0
# The directions are those of so many images at most: they hardly change with more, and whatever d is, it is quick.
_FITTED = 1000

Wide = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """An image on the map; x and y are 0 to 1."""

    image: ImageLabel
    x: float
    y: float


@dataclass(frozen=True)
class CollectionMap:
    model: str  # version
    trained: bool  # whether that has learned from people
    image_count: int  # of the whole collection
    points: list[Point]


def categories(collection: Collection) -> CategoryCounts:
    """Raises: StoreUnavailable."""
    return collection.repository.images.categories(MAX_CATEGORIES)


def collection_map(collection: Collection, limit: int) -> CollectionMap:
    """Raises: BadLimit, NotReady, StoreUnavailable."""
    if not 1 <= limit <= MAX_POINTS:
        raise BadLimit(f"limit must be 1 to {MAX_POINTS:,}, got {shown(limit)}.")
    active = current_model(collection)
    seqs, embeddings = active.index.sample_rows(limit, np.random.default_rng(_SEED))
    labels = collection.repository.images.labels(seqs.tolist())
    there = np.array([int(seq) in labels for seq in seqs], bool)  # others were deleted in between
    places = plane(embeddings[there])
    points = [Point(labels[int(seq)], float(x), float(y)) for seq, (x, y) in zip(seqs[there], places, strict=True)]
    return CollectionMap(active.version, active.model.is_trained, len(active.index), points)


def plane(embeddings: npt.NDArray[np.float32]) -> Wide:
    """Embeddings (n, d) -> places (n, 2) in the unit square: their two principal components, to the same scale.

    The first component is x. A component's entry of the greatest size is positive. Where there is nothing to tell
    apart, as with one image, or with d = 1 for y, all lie in the middle.
    """
    if not len(embeddings):
        return np.empty((0, 2))
    points = embeddings.astype(np.float64)
    points -= points[0]  # exactly 0 if all are the same, which their mean may miss by a rounding
    places = points @ _directions(points[:_FITTED]).T  # (n, 2)
    low, high = places.min(axis=0), places.max(axis=0)
    extent = float((high - low).max()) or 1.0
    unit: Wide = np.clip(0.5 + (places - (low + high) / 2) / extent, 0.0, 1.0)
    return unit


def _directions(points: Wide) -> Wide:
    """Points (n, d) -> the first two principal axes (2, d); zeros where there are no more."""
    _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    found = axes[:2]
    greatest = found[np.arange(len(found)), np.abs(found).argmax(axis=1)]
    directions = np.zeros((2, points.shape[1]))
    directions[: len(found)] = found * np.sign(greatest)[:, None]
    return directions
