"""The kernel's loops for the CPU, compiled by numba; nothing of size n x d x D is made.

A row of x goes one of two ways. Usual rows go through all D features of a landmark, eight or sixteen to an instruction.
Rows with hardly a non-zero skip the zeros and meet the d values of a feature side by side. Each row chooses for itself,
so that its result does not depend on the rows beside it.

`embedding.kernel` is the public face and holds the formulas; its plain torch path is the reference that these loops are
tested against. No function here starts threads: callers split rows over threads of their own (the code releases the
GIL), because numba's thread pool must not be entered from two threads at once.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.compiled import compiled

__all__ = ["add_vjp", "kernel"]

FloatArray = npt.NDArray[Any]

# One in so many features non-zero: below it skipping zeros is the faster way (measured at D = 4096, d = 8).
_SPARSE = 10


def kernel(x: FloatArray, landmarks: FloatArray) -> FloatArray:
    """x (n, D), landmarks (d, D), one dtype, contiguous -> (n, d)."""
    values = np.zeros((len(x), len(landmarks)), x.dtype)
    _add_kernel(x, landmarks, np.ascontiguousarray(landmarks.T), values, np.finfo(x.dtype).tiny)
    return values


def add_vjp(x: FloatArray, landmarks: FloatArray, upstream: FloatArray, product: FloatArray) -> None:
    """Add sum_i upstream[i, t] dk(x_i, l_t)/dl_t to product (d, D)."""
    _add_vjp(x, landmarks, upstream, product, np.finfo(x.dtype).tiny)


@compiled
def _add_kernel(x: Any, landmarks: Any, columns: Any, values: Any, tiny: Any) -> None:
    for i in range(len(x)):
        if _is_sparse(x[i]):
            _add_sparse_row(x[i], columns, values[i])
        else:
            for t in range(len(landmarks)):
                values[i, t] += _dense_kernel(x[i], landmarks[t], tiny)


@compiled
def _is_sparse(x: Any) -> bool:
    non_zeros = 0
    for c in range(len(x)):
        non_zeros += x[c] != 0
    return non_zeros * _SPARSE < len(x)


@compiled
def _dense_kernel(x: Any, landmark: Any, tiny: Any) -> Any:
    """`tiny`, the least normal number, makes 0/0 a 0 and changes no other quotient."""
    total = x[0] - x[0]  # 0 of the right type
    for c in range(len(x)):
        total += x[c] * landmark[c] / (abs(x[c]) + abs(landmark[c]) + tiny)
    return total + total


@compiled
def _add_sparse_row(x: Any, columns: Any, values: Any) -> None:
    for c in range(len(x)):
        if x[c] != 0:
            magnitude, double = abs(x[c]), x[c] + x[c]  # 2 * x would be float64 here
            for t in range(len(values)):
                values[t] += double * columns[c, t] / (magnitude + abs(columns[c, t]))


@compiled
def _add_vjp(x: Any, landmarks: Any, upstream: Any, product: Any, tiny: Any) -> None:
    for t in range(len(landmarks)):
        for i in range(len(x)):
            _add_slopes(x[i], landmarks[t], upstream[i, t] + upstream[i, t], product[t], tiny)


@compiled
def _add_slopes(x: Any, landmark: Any, factor: Any, product: Any, tiny: Any) -> None:
    for c in range(len(x)):
        # The quotient is squared, not its terms: squares of tiny values would underflow to 0/0. Its sign is that of x.
        ratio = x[c] / (abs(x[c]) + abs(landmark[c]) + tiny)
        product[c] += factor * ratio * abs(ratio)
