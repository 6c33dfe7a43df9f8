"""The paper's optimiser: stochastic gradient descent on one pair at a time.

Source: Sharma and Schiele, ICCV 2015, Algorithm 1: where a pair violates the margin, y (b - d2) < m,

    l_t <- l_t - r y (k_i^t - k_j^t) (grad k_i^t - grad k_j^t),    grad k^t = 2 x |x| / (|x| + |l_t|)^2

with x >= 0 here. Both gradients are taken at the old L.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.compiled import compiled
from trainer.sampling import PairIndices

__all__ = ["SparseRows", "descend"]

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SparseRows:
    """The non-zeros of a matrix (n, D), row by row: those of row i lie at starts[i] to starts[i + 1]."""

    starts: npt.NDArray[np.int64]  # (n + 1,)
    columns: npt.NDArray[np.int64]  # (nnz,), growing within a row
    values: Floats  # (nnz,)

    @classmethod
    def of(cls, matrix: Floats) -> "SparseRows":
        rows, columns = np.nonzero(matrix)
        starts = np.searchsorted(rows, np.arange(len(matrix) + 1))
        return cls(starts, columns, matrix[rows, columns])


def descend(
    histograms: SparseRows,
    columns: Floats,
    pairs: PairIndices,
    *,
    learning_rate: float,
    b: float,
    m: float,
) -> tuple[int, int]:
    """Go through the pairs in order, one step each; changes `columns` in place.

    histograms: (n, D), l1-normalised, non-negative; columns: (D, d), L transposed, so that a non-zero feature meets its
    d values side by side. Returns how many similar and how many dissimilar pairs violated the margin.
    """
    signs = np.where(pairs.similar, 1, -1).astype(np.float32)
    rows = (histograms.starts, histograms.columns, histograms.values)
    rates = (np.float32(learning_rate), np.float32(b), np.float32(m))
    similar, dissimilar = _descend(*rows, columns, pairs.left, pairs.right, signs, *rates)
    return int(similar), int(dissimilar)


@compiled
def _descend(
    starts: Any, places: Any, values: Any, columns: Any, left: Any, right: Any, signs: Any, rate: Any, b: Any, m: Any
) -> tuple[int, int]:
    d = columns.shape[1]
    difference = np.zeros(d, np.float32)  # k_i - k_j
    violations = [0, 0]
    for p in range(len(left)):
        i, j, y = starts[left[p]], starts[right[p]], signs[p]
        i_end, j_end = starts[left[p] + 1], starts[right[p] + 1]
        difference[:] = 0
        _add_kernel_row(places[i:i_end], values[i:i_end], np.float32(1), columns, difference)
        _add_kernel_row(places[j:j_end], values[j:j_end], np.float32(-1), columns, difference)
        squared_distance = np.float32(0)
        for t in range(d):
            squared_distance += difference[t] * difference[t]
        if y * (b - squared_distance) < m:
            violations[0 if y > 0 else 1] += 1
            for t in range(d):
                difference[t] *= (rate + rate) * y
            _subtract_gradient(places[i:i_end], values[i:i_end], places[j:j_end], values[j:j_end], columns, difference)
    return violations[0], violations[1]


@compiled
def _add_kernel_row(places: Any, values: Any, sign: Any, columns: Any, sums: Any) -> None:
    d = columns.shape[1]
    for q in range(len(places)):
        c, x = places[q], values[q]
        double = sign * (x + x)  # 2 * x would be float64 here
        for t in range(d):
            sums[t] += double * columns[c, t] / (x + abs(columns[c, t]))


@compiled
def _subtract_gradient(x_places: Any, x: Any, z_places: Any, z: Any, columns: Any, weights: Any) -> None:
    """columns[c, t] -= weights[t] (q(x_c) - q(z_c)) with q(x) = (x / (x + |l|))^2, both at the old value.

    The two lists of non-zeros are merged: a feature is in both, in the first, or in the second.
    """
    d = columns.shape[1]
    i, j = 0, 0
    while i < len(x) or j < len(z):
        if j == len(z) or (i < len(x) and x_places[i] < z_places[j]):
            _move(columns[x_places[i]], weights, x[i], np.float32(-1))
            i += 1
        elif i == len(x) or z_places[j] < x_places[i]:
            _move(columns[z_places[j]], weights, z[j], np.float32(1))
            j += 1
        else:
            c = x_places[i]
            for t in range(d):
                size = abs(columns[c, t])
                ratio_x, ratio_z = x[i] / (x[i] + size), z[j] / (z[j] + size)
                columns[c, t] -= weights[t] * (ratio_x * ratio_x - ratio_z * ratio_z)
            i += 1
            j += 1


@compiled
def _move(column: Any, weights: Any, x: Any, sign: Any) -> None:
    for t in range(len(weights)):
        ratio = x / (x + abs(column[t]))
        column[t] += sign * weights[t] * ratio * ratio
