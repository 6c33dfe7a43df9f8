"""The paper's optimiser: stochastic gradient descent on one pair at a time.

Source: Sharma and Schiele, ICCV 2015, Algorithm 1: where a pair violates the margin, y (b - d2) < m,

    l_t <- l_t - r y (k_i^t - k_j^t) (grad k_i^t - grad k_j^t),    grad k^t = 2 x |x| / (|x| + |l_t|)^2

with x >= 0 here. Both gradients are taken at the old L.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.compiled import compiled
from trainer.sampling import PairIndices

__all__ = ["descend"]


def descend(
    histograms: npt.NDArray[np.float32],
    columns: npt.NDArray[np.float32],
    pairs: PairIndices,
    *,
    learning_rate: float,
    b: float,
    m: float,
) -> tuple[int, int]:
    """Go through the pairs in order, one step each; changes `columns` in place.

    histograms: (n, D) l1-normalised, non-negative; columns: (D, d), L transposed, so that a non-zero feature meets its
    d values side by side. Returns how many similar and how many dissimilar pairs violated the margin.
    """
    signs = np.where(pairs.similar, 1, -1).astype(np.float32)
    rate, threshold, margin = np.float32(learning_rate), np.float32(b), np.float32(m)
    similar, dissimilar = _descend(histograms, columns, pairs.left, pairs.right, signs, rate, threshold, margin)
    return int(similar), int(dissimilar)


@compiled
def _descend(
    histograms: Any, columns: Any, left: Any, right: Any, signs: Any, rate: Any, b: Any, m: Any
) -> tuple[int, int]:
    d = columns.shape[1]
    difference = np.zeros(d, np.float32)  # k_i - k_j
    violations = [0, 0]
    for p in range(len(left)):
        x, z, y = histograms[left[p]], histograms[right[p]], signs[p]
        difference[:] = 0
        _add_kernel_row(x, columns, difference, np.float32(1))
        _add_kernel_row(z, columns, difference, np.float32(-1))
        squared_distance = np.float32(0)
        for t in range(d):
            squared_distance += difference[t] * difference[t]
        if y * (b - squared_distance) < m:
            violations[0 if y > 0 else 1] += 1
            for t in range(d):
                difference[t] *= 2 * rate * y
            _subtract_gradient(x, z, columns, difference)
    return violations[0], violations[1]


@compiled
def _add_kernel_row(x: Any, columns: Any, values: Any, sign: Any) -> None:
    feature_dim, d = columns.shape
    for c in range(feature_dim):
        if x[c] != 0:
            double = 2 * sign * x[c]
            for t in range(d):
                values[t] += double * columns[c, t] / (x[c] + abs(columns[c, t]))


@compiled
def _subtract_gradient(x: Any, z: Any, columns: Any, weights: Any) -> None:
    """columns[c, t] -= weights[t] (q(x_c) - q(z_c)) with q(x) = (x / (x + |l|))^2, both at the old value.

    Three cases, so that the inner loops hold no branch and no 0/0.
    """
    feature_dim, d = columns.shape
    for c in range(feature_dim):
        if x[c] != 0 and z[c] != 0:
            for t in range(d):
                ratio_x = x[c] / (x[c] + abs(columns[c, t]))
                ratio_z = z[c] / (z[c] + abs(columns[c, t]))
                columns[c, t] -= weights[t] * (ratio_x * ratio_x - ratio_z * ratio_z)
        elif x[c] != 0:
            for t in range(d):
                ratio = x[c] / (x[c] + abs(columns[c, t]))
                columns[c, t] -= weights[t] * ratio * ratio
        elif z[c] != 0:
            for t in range(d):
                ratio = z[c] / (z[c] + abs(columns[c, t]))
                columns[c, t] += weights[t] * ratio * ratio
