"""Deep NML: a network of Hellinger kernel units, the paper's "kernel neural network" with one more layer.

A hidden unit j is the kernel of the histogram x with a learned landmark l_j, plus a constant. A dimension t of the
embedding sums hidden units, the kernel with a landmark of its own, a_t, and a constant:

    k(x, l) = sum_c sign(l_c) sqrt(x_c |l_c|)
    h_j = max(0, k(x, l_j) + o_j)        z_t = k(x, a_t) + sum_j v_tj h_j + p_t

Hellinger's kernel is one of the additive kernels that the paper says its method extends to. It is linear in sqrt(x), so
that a landmark is kept as its signed roots and training needs matrix products only. The embedding is z
divided by its length, so squared distances lie in [0, 4].
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from embedding.compiled import compiled
from embedding.eight import EIGHT, load, spread, store
from embedding.metric import (
    FloatMatrix,
    Normalisation,
    check_parameters,
    embed_in_blocks,
    l1_normalised,
    l2_normalised,
    parameters_of,
)

__all__ = ["HellingerNetwork"]

_GROUP = 4 * EIGHT  # columns whose sums are in registers at a time
_ROWS_AT_ONCE = 64  # whose roots stay in the cache beside a group of columns
_MANY_ROWS = 32  # for fewer, bringing the columns into groups takes longer than it saves


@dataclass(frozen=True)
class HellingerNetwork:
    """phi(x) = z / |z|, z = A^T sqrt(x) + V max(0, U^T sqrt(x) + o) + p, x l1-normalised; h hidden units.

    Source: Sharma and Schiele, ICCV 2015, where the method is called a kernel neural network with one hidden layer.
    """

    units: FloatMatrix  # (D, h), U: column j holds the signed roots of landmark l_j
    unit_offset: FloatMatrix  # (h,), o
    weights: FloatMatrix  # (d, h), V
    direct: FloatMatrix  # (D, d), A: column t holds the signed roots of landmark a_t
    offset: FloatMatrix  # (d,), p

    def __post_init__(self) -> None:
        for name, values in parameters_of(self).items():
            check_parameters(name, values, dimensions=1 if name.endswith("offset") else 2)
        (feature_dim, hidden), d = self.units.shape, len(self.offset)
        expected = {"unit_offset": (hidden,), "weights": (d, hidden), "direct": (feature_dim, d)}
        for name, shape in expected.items():
            if (found := getattr(self, name).shape) != shape:
                raise ValueError(f"{name} must be {shape} for {hidden} units and d = {d}, got {found}")

    kernel: ClassVar[str] = "hellinger"
    normalisation: ClassVar[Normalisation] = "l1"

    @property
    def feature_dim(self) -> int:
        return int(self.units.shape[0])

    @property
    def embedding_dim(self) -> int:
        return int(self.weights.shape[0])

    def embed(self, features: npt.ArrayLike) -> FloatMatrix:
        def network(block: FloatMatrix) -> FloatMatrix:
            roots = np.sqrt(l1_normalised(block))
            hidden, outputs = (self._few if len(roots) < _MANY_ROWS else self._many)(roots)
            _add_weighted(hidden, np.ascontiguousarray(self.weights), outputs)
            return l2_normalised(outputs)

        return embed_in_blocks(self, features, network)

    def _few(self, roots: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
        """sqrt(x) (n, D) -> U^T sqrt(x) + o, (n, h), and A^T sqrt(x) + p, (n, d)."""
        hidden, outputs = (np.tile(start, (len(roots), 1)) for start in (self.unit_offset, self.offset))
        _add_products(roots, np.ascontiguousarray(self.units), hidden)
        _add_products(roots, np.ascontiguousarray(self.direct), outputs)
        return hidden, outputs

    def _many(self, roots: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
        """The same, to the bit."""
        hidden, d = len(self.unit_offset), len(self.offset)
        columns = np.zeros((self.feature_dim, -(-(hidden + d) // _GROUP) * _GROUP), np.float32)
        columns[:, :hidden], columns[:, hidden : hidden + d] = self.units, self.direct
        start = np.zeros(columns.shape[1], np.float32)
        start[:hidden], start[hidden : hidden + d] = self.unit_offset, self.offset
        sums = np.tile(start, (len(roots), 1))
        _add_products_of_many(roots, _in_groups(columns), sums)
        return sums[:, :hidden].copy(), sums[:, hidden : hidden + d].copy()


def _in_groups(columns: FloatMatrix) -> FloatMatrix:
    """(D, w) in groups of 32 columns: row g D + c, cut into eights, holds feature c's values in columns 32 g and on."""
    feature_dim, width = columns.shape
    groups = columns.reshape(feature_dim, width // _GROUP, _GROUP).transpose(1, 0, 2)
    return np.ascontiguousarray(groups).reshape(-1, EIGHT)


@compiled
def _add_products(roots: Any, columns: Any, sums: Any) -> None:
    """sums (n, w) += roots (n, D) @ columns (D, w), one row after the other, zeros skipped: a matrix product would
    round differently for one row than for many.
    """
    for i in range(len(roots)):
        for c in range(len(columns)):
            if roots[i, c] != 0:
                _add_scaled(sums[i], columns[c], roots[i, c])


@compiled
def _add_products_of_many(roots: Any, groups: Any, sums: Any) -> None:
    """The same, to the bit, with a group of columns at a time: for many rows it stays in the processor's cache, and a
    row's four eights of sums in its registers.
    """
    feature_dim, width = roots.shape[1], sums.shape[1]
    eights, a_row = sums.reshape(-1, EIGHT), width // EIGHT
    shape = (_ROWS_AT_ONCE, feature_dim)
    places, values = np.empty(shape, np.int32), np.empty(shape, np.float32)
    counts = np.empty(_ROWS_AT_ONCE, np.int64)
    for first in range(0, len(roots), _ROWS_AT_ONCE):
        n = min(_ROWS_AT_ONCE, len(roots) - first)
        for i in range(n):
            counts[i] = _without_zeros(roots[first + i], places[i], values[i])
        for g in range(width // _GROUP):
            group = groups[g * feature_dim * 4 : (g + 1) * feature_dim * 4]
            for i in range(n):
                _add_group(places[i, : counts[i]], values[i], group, eights, (first + i) * a_row + 4 * g)


@compiled
def _without_zeros(row: Any, places: Any, values: Any) -> Any:
    """Write where the row is not 0 and what is there; returns how many that are."""
    count = 0
    for c in range(len(row)):
        if row[c] != 0:
            places[count], values[count] = c, row[c]
            count += 1
    return count


@compiled
def _add_group(places: Any, values: Any, group: Any, eights: Any, at: Any) -> None:
    a, b, c, d = load(eights, at), load(eights, at + 1), load(eights, at + 2), load(eights, at + 3)
    for q in range(len(places)):
        root, row = spread(values[q]), 4 * places[q]
        a += root * load(group, row)
        b += root * load(group, row + 1)
        c += root * load(group, row + 2)
        d += root * load(group, row + 3)
    store(eights, at, a)
    store(eights, at + 1, b)
    store(eights, at + 2, c)
    store(eights, at + 3, d)


@compiled
def _add_weighted(hidden: Any, weights: Any, outputs: Any) -> None:
    """outputs (n, d) += max(0, hidden (n, h)) @ weights.T; changes hidden too."""
    zero = np.float32(0)
    for i in range(len(hidden)):
        for j in range(hidden.shape[1]):
            hidden[i, j] = max(hidden[i, j], zero)
        for t in range(len(weights)):
            outputs[i, t] += _product(hidden[i], weights[t], zero)


@compiled
def _add_scaled(sums: Any, row: Any, factor: Any) -> None:
    for j in range(len(sums)):
        sums[j] += factor * row[j]


@compiled
def _product(left: Any, right: Any, zero: Any) -> Any:
    total = zero
    for j in range(len(left)):
        total += left[j] * right[j]
    return total
