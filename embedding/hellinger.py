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
        units, weights, direct = (np.ascontiguousarray(part) for part in (self.units, self.weights, self.direct))

        def network(block: FloatMatrix) -> FloatMatrix:
            outputs = np.empty((len(block), self.embedding_dim), np.float32)
            _network(l1_normalised(block), units, self.unit_offset, weights, direct, self.offset, outputs)
            return l2_normalised(outputs)

        return embed_in_blocks(self, features, network)


@compiled
def _network(
    histograms: Any, units: Any, unit_offset: Any, weights: Any, direct: Any, offset: Any, outputs: Any
) -> None:
    """Write z of each row of histograms (n, D) to outputs (n, d). One row after the other, zeros skipped: a matrix
    product would round differently for one row than for many.
    """
    hidden = np.empty_like(unit_offset)
    zero = np.float32(0)
    for i in range(len(histograms)):
        hidden[:] = unit_offset
        outputs[i] = offset
        for c in range(len(units)):
            if histograms[i, c] != 0:
                root = np.sqrt(histograms[i, c])
                _add_scaled(hidden, units[c], root)
                _add_scaled(outputs[i], direct[c], root)
        for j in range(len(hidden)):
            hidden[j] = max(hidden[j], zero)
        for t in range(len(offset)):
            outputs[i, t] += _product(hidden, weights[t], zero)


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
