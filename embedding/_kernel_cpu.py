"""The kernel's loops for the CPU, compiled by numba: zeros of x are skipped, nothing of size n x d x D is made.

Landmarks come as (D, d), so that the inner loop reads d neighbours. `embedding.kernel` is the public face and holds
the formulas; its plain torch path is the reference that these loops are tested against.

No function here starts threads: callers split rows over threads of their own (the code releases the GIL), because
numba's thread pool must not be entered from two threads at once.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.compiled import compiled

__all__ = ["add_vjp", "kernel"]

FloatArray = npt.NDArray[Any]


def kernel(x: FloatArray, columns: FloatArray) -> FloatArray:
    """x (n, D), columns (D, d), one dtype -> (n, d)."""
    values = np.zeros((len(x), columns.shape[1]), x.dtype)
    _add_kernel(x, columns, values)
    return values


@compiled
def _add_kernel(x: FloatArray, columns: FloatArray, values: FloatArray) -> None:
    n, feature_dim = x.shape
    d = columns.shape[1]
    for i in range(n):
        for c in range(feature_dim):
            x_ic = x[i, c]
            if x_ic != 0:
                magnitude, double = abs(x_ic), x_ic + x_ic
                for t in range(d):
                    landmark = columns[c, t]
                    values[i, t] += double * landmark / (magnitude + abs(landmark))


@compiled
def add_vjp(x: FloatArray, columns: FloatArray, upstream: FloatArray, product: FloatArray) -> None:
    """Add sum_i upstream[i, t] dk(x_i, l_t)/dl_t to product (D, d)."""
    n, feature_dim = x.shape
    d = columns.shape[1]
    for i in range(n):
        for c in range(feature_dim):
            x_ic = x[i, c]
            if x_ic != 0:
                magnitude = abs(x_ic)
                double = (x_ic + x_ic) / magnitude  # 2 * x would be float64 here
                for t in range(d):
                    # The quotient is squared, not its terms: squares of tiny values would underflow to 0/0.
                    ratio = magnitude / (magnitude + abs(columns[c, t]))
                    product[c, t] += upstream[i, t] * double * ratio * ratio
