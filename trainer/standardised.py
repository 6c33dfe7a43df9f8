"""What networks see of features: each with mean 0 and deviation 1 over the training images, some left out at random."""

import numpy as np
import numpy.typing as npt
import torch

__all__ = ["spread", "with_dropout"]

FloatMatrix = npt.NDArray[np.float32]

# A feature that hardly varies in training is not blown up: the least divisor, as a share of the mean deviation.
_LEAST_DEVIATION = 0.1


def spread(features: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
    """Mean (D,) and standard deviation (D,) of each feature (n, D), the latter not near zero."""
    deviation = features.std(0)
    least = _LEAST_DEVIATION * float(deviation.mean())
    return features.mean(0), np.maximum(deviation, least if least > 0 else 1).astype(np.float32)


def with_dropout(x: torch.Tensor, share: float, rng: np.random.Generator) -> torch.Tensor:
    """x (r, D) with about this share of its elements at 0 and the others enlarged to keep the mean.

    A byte decides on an element: torch's own dropout takes as long as the rest of a linear head's step.
    """
    least = min(255, round(256 * share))
    if least == 0:
        return x
    kept = torch.from_numpy(rng.integers(256, size=tuple(x.shape), dtype=np.uint8) >= least)
    return x * kept * (256 / (256 - least))
