"""Histograms whose principal components say nothing of the class."""

import numpy as np

from embedding.metric import FloatMatrix, l1_normalised
from trainer.sampling import Labels

__all__ = ["loud_and_quiet"]


def loud_and_quiet(seed: int, n: int = 150) -> tuple[FloatMatrix, Labels]:
    """Fifteen features that move in threes and say nothing, two for each of three classes that do: components see the
    former. Returns histograms (n, 21) and classes (n,).
    """
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    x = rng.exponential(size=(n, 21))
    x[:, :15] *= np.repeat(rng.gamma(2, 1, size=(n, 5)), 3, axis=1)
    for label in range(3):
        x[labels == label, 15 + 2 * label : 17 + 2 * label] += 2
    return l1_normalised(x.astype(np.float32)), labels.astype(np.int64)
