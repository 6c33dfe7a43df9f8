"""Pictures that are nearly the same: saved again, scaled a little, cropped a little, mirrored.

The learned distance is no measure of that: it brings all pictures of one kind together. What is compared here are the
stored features themselves, l2-normalised. Measured with EfficientNet-Lite0 on 600 pictures each of two real sets, as
squared distances: saving as JPEG at quality 90 moves a picture by 0.004 (median; 99% below 0.012), at quality 60 by
0.05, cropping 2% on each side by 0.06, mirroring by 0.06; the nearest other picture is at 0.55 to 0.6, of 1 in 100
nearer than 0.2.

The distances of all pairs in D dimensions would take hours. An orthonormal projection P shortens every difference,
|P x - P y| <= |x - y|, so no pair within the bound is farther apart in a few dimensions; what is near there is compared
in full. The result is exact.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from app.ports import Images, MemoryIndex
from app.records import FeatureMatrix, NearDuplicate

__all__ = ["near_duplicates"]

_DIMENSIONS = 32  # of the projection: most of what tells pictures apart, at 128 bytes each
_SAMPLE = 16_384  # pictures that the projection is chosen by
_BLOCK_ROWS = 4096
_SLACK = 1e-5  # of unit vectors' squared distances in float32; what it lets in too much is found out in full


def near_duplicates(
    images: Images, new_index: Callable[[int, str], MemoryIndex], max_squared_distance: float
) -> Iterator[NearDuplicate]:
    """Every two images whose l2-normalised features are at most that far apart (0 to 4), in the order of seq.

    Raises: StoreUnavailable.
    """
    projection = _projection(images)
    if projection is None:
        return
    index = new_index(projection.shape[1], "projection")
    for block in images.feature_blocks(_BLOCK_ROWS):
        index.add(block.seqs, _unit(block.features) @ projection)
    candidates = index.near_duplicates(max_squared_distance + _SLACK)
    while some := list(islice(candidates, _BLOCK_ROWS)):
        yield from (pair for pair in _in_full(images, some) if pair.squared_distance <= max_squared_distance)


@dataclass(frozen=True)
class _Rows:
    """Unit vectors of some images."""

    seqs: npt.NDArray[np.int64]  # (n,), ascending
    vectors: npt.NDArray[np.float32]  # (n, D)

    def of(self, seqs: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        return self.vectors[np.searchsorted(self.seqs, seqs)]


def _projection(images: Images) -> npt.NDArray[np.float32] | None:
    """Orthonormal columns (D, r) along which a sample varies most; None of an empty collection."""
    blocks = islice(images.feature_blocks(_BLOCK_ROWS), _SAMPLE // _BLOCK_ROWS)
    moments = [unit.T @ unit for unit in (_unit(block.features) for block in blocks)]
    if not moments:
        return None
    _, vectors = np.linalg.eigh(np.sum(moments, axis=0))
    columns: npt.NDArray[np.float32] = np.ascontiguousarray(vectors[:, -_DIMENSIONS:], np.float32)
    return columns


def _unit(features: FeatureMatrix) -> npt.NDArray[np.float32]:
    """l2-normalised (n, D); a picture without any feature stays 0."""
    vectors = features.astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: npt.NDArray[np.float32] = np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return unit


def _in_full(images: Images, candidates: list[NearDuplicate]) -> Iterator[NearDuplicate]:
    """The candidates with their distances in D dimensions; without those that were deleted meanwhile."""
    wanted = sorted({seq for pair in candidates for seq in (pair.left, pair.right)})
    block = images.features_of(wanted)
    there = set(block.seqs.tolist())
    kept = [pair for pair in candidates if pair.left in there and pair.right in there]
    if not kept:
        return
    rows = _Rows(block.seqs, _unit(block.features))
    left = rows.of(np.array([pair.left for pair in kept]))
    right = rows.of(np.array([pair.right for pair in kept]))
    for pair, squared_distance in zip(kept, np.square(left - right).sum(axis=1), strict=True):
        yield NearDuplicate(pair.left, pair.right, float(squared_distance))
