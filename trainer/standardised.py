"""What networks see of features: each with mean 0 and deviation 1 over the training images, some left out at random."""

import numpy as np
import torch

from embedding.metric import FloatMatrix, row_blocks

__all__ = ["spread", "with_dropout"]

# A feature that hardly varies in training is not blown up: the least divisor, as a share of the mean deviation.
_LEAST_DEVIATION = 0.1

# Below this share of the mean, deviations are the rounding of float32 features and tell nothing.
_ROUNDING = 1e-6


def spread(features: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
    """Mean (D,) and standard deviation (D,) of each feature (n, D), the latter not near zero."""
    mean = features.mean(0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for rows in row_blocks(len(features)):  # a float64 copy of all features would be twice their size
        squares += np.square(features[rows] - mean).sum(0)
    deviation = np.sqrt(squares / len(features))
    if deviation.mean() <= _ROUNDING * np.abs(mean).mean():
        return mean.astype(np.float32), np.ones(len(mean), np.float32)
    least = _LEAST_DEVIATION * float(deviation.mean())
    return mean.astype(np.float32), np.maximum(deviation, least).astype(np.float32)


def with_dropout(
    x: torch.Tensor, share: float, rng: np.random.Generator, rows: slice = slice(None), count: int | None = None
) -> torch.Tensor:
    """x (r, D) with about this share of its elements at 0 and the others enlarged to keep the mean.

    A byte decides on an element: torch's own dropout takes as long as the rest of a linear head's step.
    rows, count: x is these rows of so many, and loses what it would lose among all of them.
    """
    least = min(255, round(256 * share))
    if least == 0:
        return x
    size = (len(x) if count is None else count, x.shape[1])
    kept = torch.from_numpy(rng.integers(256, size=size, dtype=np.uint8)[rows] >= least).to(x.device)
    return x * kept * (256 / (256 - least))
