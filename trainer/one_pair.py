"""The paper's optimiser: stochastic gradient descent on one pair at a time.

Source: Sharma and Schiele, ICCV 2015, Algorithm 1: where a pair violates the margin, y (b - d2) < m,

    NML: l_t <- l_t - r y (k_i^t - k_j^t) (grad k_i^t - grad k_j^t),   grad k^t = 2 x |x| / (|x| + |l_t|)^2, here x >= 0
    ML:  l_t <- l_t - r y l_t . (x_i - x_j) (x_i - x_j)

All gradients are taken at the old L; the factor 2 of the derivative is folded into the rate r.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.compiled import compiled
from embedding.eight import EIGHT, load, spread, store, total
from trainer.sampling import PairIndices

__all__ = ["SparseRows", "descend", "descend_linear"]

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SparseRows:
    """The non-zeros of a matrix (n, D), row by row: those of row i lie at starts[i] to starts[i + 1]."""

    starts: npt.NDArray[np.int64]  # (n + 1,)
    columns: npt.NDArray[np.int32]  # (nnz,), growing within a row
    values: Floats  # (nnz,)

    @classmethod
    def of(cls, matrix: Floats) -> "SparseRows":
        rows, columns = np.nonzero(matrix)
        starts = np.searchsorted(rows, np.arange(len(matrix) + 1))
        return cls(starts, columns.astype(np.int32), matrix[rows, columns])


def descend(
    rows: SparseRows, landmarks: Floats, pairs: PairIndices, *, learning_rate: float, b: float, m: float
) -> tuple[int, int]:
    """NML: go through the pairs in order, one step each; changes `landmarks` in place.

    rows: features (n, D), l1-normalised and non-negative; landmarks: L, (d, D). Returns how many similar and how many
    dissimilar pairs violated the margin.
    """
    widest = int(np.diff(rows.starts).max(initial=0))
    columns, feature_dim = _grouped(landmarks), landmarks.shape[1]
    ends = (
        rows.starts[pairs.left],
        rows.starts[pairs.left + 1],
        rows.starts[pairs.right],
        rows.starts[pairs.right + 1],
    )
    similar, dissimilar = _descend(
        rows.columns, rows.values, *ends, _signs(pairs), columns, feature_dim, widest, *_singles(learning_rate, b, m)
    )
    ungrouped = columns.reshape(-1, feature_dim, EIGHT).transpose(0, 2, 1).reshape(-1, feature_dim)
    landmarks[:] = ungrouped[: len(landmarks)]
    return int(similar), int(dissimilar)


def descend_linear(
    vectors: Floats, weights: Floats, pairs: PairIndices, *, learning_rate: float, b: float, m: float
) -> tuple[int, int]:
    """ML: go through the pairs in order, one step each; changes `weights` in place.

    vectors: (n, p), of any sign; weights: L, (d, p). Returns how many similar and how many dissimilar pairs violated
    the margin.
    """
    similar, dissimilar = _descend_linear(
        vectors, weights, pairs.left, pairs.right, _signs(pairs), *_singles(learning_rate, b, m)
    )
    return int(similar), int(dissimilar)


def _signs(pairs: PairIndices) -> Floats:
    return np.where(pairs.similar, 1, -1).astype(np.float32)


def _singles(*numbers: float) -> tuple[np.float32, ...]:
    """Else compiled code would go on in float64."""
    return tuple(map(np.float32, numbers))


def _grouped(landmarks: Floats) -> Floats:
    """L (d, D) in groups of eight dimensions: row g D + c holds feature c's values in dimensions 8 g to 8 g + 7.

    The dimensions that fill up the last group are 0, differ in no pair, and so stay 0.
    """
    d, feature_dim = landmarks.shape
    groups = -(-d // EIGHT)
    padded = np.zeros((groups * EIGHT, feature_dim), np.float32)
    padded[:d] = landmarks
    return np.ascontiguousarray(padded.reshape(groups, EIGHT, feature_dim).transpose(0, 2, 1)).reshape(-1, EIGHT)


@compiled
def _descend(
    places: Any,
    values: Any,
    left: Any,
    left_ends: Any,
    right: Any,
    right_ends: Any,
    signs: Any,
    columns: Any,
    feature_dim: Any,
    widest: Any,
    rate: Any,
    b: Any,
    m: Any,
) -> tuple[int, int]:
    groups = len(columns) // feature_dim
    differences = np.empty((groups, EIGHT), np.float32)  # k_i - k_j
    left_slopes = np.empty((groups * widest, EIGHT), np.float32)  # grad k_i, at its non-zeros
    right_slopes = np.empty((groups * widest, EIGHT), np.float32)
    violations = [0, 0]
    for p in range(len(left)):
        x_places, x = places[left[p] : left_ends[p]], values[left[p] : left_ends[p]]
        z_places, z = places[right[p] : right_ends[p]], values[right[p] : right_ends[p]]
        y = signs[p]
        squared_distance = np.float32(0)
        for g in range(groups):
            of_x = _kernel_group(x_places, x, columns, g * feature_dim, left_slopes, g * widest)
            of_z = _kernel_group(z_places, z, columns, g * feature_dim, right_slopes, g * widest)
            difference = of_x - of_z
            store(differences, g, difference)
            squared_distance += total(difference * difference)
        if y * (b - squared_distance) < m:
            violations[0 if y > 0 else 1] += 1
            for g in range(groups):
                difference = load(differences, g)
                _subtract(x_places, columns, g * feature_dim, left_slopes, g * widest, difference * spread(rate * y))
                _subtract(z_places, columns, g * feature_dim, right_slopes, g * widest, difference * spread(-rate * y))
    return violations[0], violations[1]


@compiled
def _kernel_group(places: Any, x: Any, columns: Any, first: Any, slopes: Any, first_slope: Any) -> Any:
    """Eight values of k for one row of features; keeps the slopes at its non-zeros."""
    sums = spread(np.float32(0))
    for q in range(len(places)):
        l, value = load(columns, first + places[q]), spread(x[q])  # noqa: E741 - the paper's name
        ratio = value / (value + abs(l))
        sums += l * (ratio + ratio)
        store(slopes, first_slope + q, ratio * (ratio + ratio))
    return sums


@compiled
def _subtract(places: Any, columns: Any, first: Any, slopes: Any, first_slope: Any, step: Any) -> None:
    """columns -= step * slope at the non-zeros of one row."""
    for q in range(len(places)):
        row = first + places[q]
        store(columns, row, load(columns, row) - step * load(slopes, first_slope + q))


@compiled
def _descend_linear(
    vectors: Any, weights: Any, left: Any, right: Any, signs: Any, rate: Any, b: Any, m: Any
) -> tuple[int, int]:
    d, width = weights.shape
    apart = np.empty(width, np.float32)  # x_i - x_j: one product with it in place of two
    differences = np.empty(d, np.float32)
    violations = [0, 0]
    for p in range(len(left)):
        x, z, y = vectors[left[p]], vectors[right[p]], signs[p]
        for c in range(width):
            apart[c] = x[c] - z[c]
        squared_distance = np.float32(0)
        for t in range(d):
            differences[t] = _dot(weights[t], apart)
            squared_distance += differences[t] * differences[t]
        if y * (b - squared_distance) < m:
            violations[0 if y > 0 else 1] += 1
            for t in range(d):
                _add_multiple(weights[t], apart, -rate * y * differences[t])
    return violations[0], violations[1]


@compiled
def _dot(row: Any, vector: Any) -> Any:
    result = np.float32(0)
    for c in range(len(row)):
        result += row[c] * vector[c]
    return result


@compiled
def _add_multiple(row: Any, vector: Any, factor: Any) -> None:
    for c in range(len(row)):
        row[c] += factor * vector[c]
