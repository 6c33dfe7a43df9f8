"""Nothing learned: the features themselves, by the three distances of the paper's appendix."""

from dataclasses import dataclass

from embedding.metric import l1_normalised, l2_normalised
from trainer.evaluation import Distance
from trainer.methods.method import FloatMatrix, TrainingSet

__all__ = ["Raw"]


@dataclass(frozen=True)
class Raw:
    """Features l2-normalised for the Euclidean distance, l1-normalised for l1 and chi2. Its own Fitted: d is D."""

    distance: Distance
    embedding_dim: int = 0  # D, known once it is fitted
    parameters: int = 0

    def fit(self, data: TrainingSet, d: int, seed: int) -> "Raw":  # noqa: ARG002 - there is nothing to learn
        return Raw(self.distance, data.features.shape[1])

    def embed(self, features: FloatMatrix) -> FloatMatrix:
        return l2_normalised(features) if self.distance == "l2" else l1_normalised(features)
