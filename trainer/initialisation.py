"""Where L starts."""

import numpy as np
import numpy.typing as npt

from trainer.config import Initialisation

__all__ = ["initial_landmarks"]

_PAPER_SCALE = 0.5


def initial_landmarks(
    kind: Initialisation, d: int, feature_dim: int, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    """L of shape (d, D), drawn from U(-s, s).

    "paper": s = 0.5, as in Algorithm 1. l1-normalised features have mean 1/D, so |l| starts hundreds of times above x,
    where the kernel is almost linear and its gradient almost 0. "data-scaled": s = 1/D.
    """
    scale = _PAPER_SCALE if kind == "paper" else 1 / feature_dim
    return rng.uniform(-scale, scale, (d, feature_dim)).astype(np.float32)
