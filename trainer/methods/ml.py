"""ML: the linear baseline, L x in place of phi(x)."""

from dataclasses import dataclass

import numpy as np

from embedding.metric import LinearMetric, l2_normalised
from trainer.methods.fitted import MetricFitted
from trainer.methods.linear_descent import LinearDescent
from trainer.methods.method import TrainingSet

__all__ = ["Ml"]


@dataclass(frozen=True)
class Ml:
    """The same hinge, the same pairs and the same SGD as NML's, x l2-normalised.

    Source: Sharma and Schiele, ICCV 2015, the baseline ML.
    """

    descent: LinearDescent

    def fit(self, data: TrainingSet, d: int, seed: int) -> MetricFitted:
        weights = self.descent.weights(l2_normalised(data.features), data, d, seed)
        return MetricFitted(LinearMetric(weights, np.zeros(d, np.float32)))
