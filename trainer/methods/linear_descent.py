"""One-pair SGD on W f, for whatever vectors f: what ML and kML share."""

from dataclasses import dataclass

import numpy as np

from trainer.errors import BadDataset
from trainer.evaluation import squared_distances
from trainer.methods.method import FloatMatrix, TrainingSet
from trainer.one_pair import descend_linear
from trainer.pca import principal_components
from trainer.sampling import PairIndices, generator

__all__ = ["LinearDescent"]

# As in trainer.fit, so that all methods visit the same pairs in the same order.
_CHUNK = 20_000
_PHASE = "final"

# Pairs by whose mean distance the start is brought to the threshold's scale.
_SCALE_PAIRS = 10_000


@dataclass(frozen=True)
class LinearDescent:
    """The paper's hinge on squared distances |W f_i - W f_j|^2, one pair a step, from the principal components of f.

    Source: Sharma and Schiele, ICCV 2015, the linear baseline. Rates and iterations: docs/decisions/0007.
    """

    learning_rate: float  # for vectors of length 1; divided by the mean squared length of others
    iterations: int = 100_000
    b: float = 1.0  # the paper's for l2-normalised features, like m
    m: float = 0.2
    pairs: int = 500_000

    def weights(self, vectors: FloatMatrix, data: TrainingSet, d: int, seed: int) -> FloatMatrix:
        """W (d, p) for vectors (n, p). Raises: BadDataset if d is more than n or p allow."""
        pairs = data.drawn_pairs(self.pairs, seed)
        weights = self._start(vectors, pairs, d)
        rate = self.learning_rate / float(np.square(vectors, dtype=np.float64).sum(1).mean())
        for first in range(0, self.iterations, _CHUNK):
            visits = generator(seed, _PHASE, first).integers(len(pairs), size=min(_CHUNK, self.iterations - first))
            descend_linear(vectors, weights, pairs.take(visits), learning_rate=rate, b=self.b, m=self.m)
        return weights

    def _start(self, vectors: FloatMatrix, pairs: PairIndices, d: int) -> FloatMatrix:
        """Principal components at the scale where pairs are about b apart."""
        components, mean = principal_components(vectors, d)
        some = pairs.take(np.arange(min(_SCALE_PAIRS, len(pairs))))
        spread = float(squared_distances(((vectors - mean) @ components.T).astype(np.float32), some).mean())
        if spread <= 0:
            raise BadDataset("The drawn pairs are of identical images: there is nothing to tell apart.")
        return np.ascontiguousarray(components * np.sqrt(self.b / spread), np.float32)
