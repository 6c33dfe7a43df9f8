"""Principal components of a collection: a small embedding that nobody has to teach."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from embedding.errors import BadFeatures
from embedding.metric import FloatMatrix, LinearMetric, check_features, l2_normalised, row_blocks

__all__ = ["MOST_ROWS", "near_squared_distance", "principal_components"]

MOST_ROWS = 20_000  # that components are worth taking from: with more they hardly change
_PAIRS = 10_000
_NEAR = 0.05  # of all pairs count as similar while nobody has said which are

_Wide = npt.NDArray[np.float64]


def principal_components(features: npt.ArrayLike, d: int) -> LinearMetric:
    """phi(x) = W (x / |x| - m), the rows of W (d, D) the directions in which l2-normalised features vary most.

    features: (n, D), non-negative and not normalised. No whitening: distances are those of the l2-normalised features
    but for what other directions add to them. The greatest entry of a direction, by magnitude, is positive, and the
    same features give the same bits.

    Takes memory for D^2 numbers of float64, or for n D where n < D, beside the features as float32.
    Raises: BadFeatures, also if d is more than n or D allow, or if all rows are the same.

    >>> metric = principal_components(np.float32([[3, 0], [0, 4]]), d=1)
    >>> [f"{x:.2f}" for x in metric.embed([[3, 0], [0, 4]])[:, 0]]
    ['0.71', '-0.71']
    """
    given = np.asarray(features)
    rows = check_features(given, given.shape[-1] if given.ndim else 0)
    n, D = rows.shape
    if not 1 <= d <= min(n, D):
        raise BadFeatures(f"d = {d} principal components need at least {d} images and {d} features, got {n} and {D}.")
    if (rows == rows[0]).all():
        raise BadFeatures(f"All {n} images have the same features: there is nothing to tell apart.")
    mean = np.sum([block.sum(axis=0) for block in _unit_blocks(rows)], axis=0) / n
    axes = (_axes_of_few if n < D else _axes_of_many)(rows, mean)[:d]
    greatest = axes[np.arange(d), np.abs(axes).argmax(axis=1)]
    weights = axes * np.sign(greatest)[:, None]
    return LinearMetric(np.ascontiguousarray(weights, np.float32), (-weights @ mean).astype(np.float32))


def near_squared_distance(embeddings: FloatMatrix) -> float:
    """The squared distance below which one in twenty of random pairs of embeddings (n, d) lies, n > 1; never 0."""
    left, right = np.random.default_rng(0).integers(len(embeddings), size=(2, _PAIRS))
    apart = left != right
    distances = np.square(embeddings[left[apart]] - embeddings[right[apart]]).sum(axis=1)
    return float(np.quantile(distances, _NEAR)) or float(np.finfo(np.float32).tiny)


def _unit_blocks(rows: FloatMatrix) -> Iterator[_Wide]:
    for some in row_blocks(len(rows)):
        yield l2_normalised(rows[some]).astype(np.float64)


def _axes_of_many(rows: FloatMatrix, mean: _Wide) -> _Wide:
    """All principal axes (D, D), those of the most variance first, from the covariance."""
    covariance = np.zeros((len(mean), len(mean)))
    for block in _unit_blocks(rows):
        covariance += (block - mean).T @ (block - mean)
    _, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors.T[::-1])


def _axes_of_few(rows: FloatMatrix, mean: _Wide) -> _Wide:
    """The first n of them (n, D), without a matrix of D x D."""
    _, _, axes = np.linalg.svd(np.concatenate(list(_unit_blocks(rows))) - mean, full_matrices=False)
    return np.asarray(axes)
