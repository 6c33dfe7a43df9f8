"""What most methods have learned: a metric of the package `embedding`, which a model file can carry."""

from dataclasses import dataclass, field

from embedding.metric import Metric, parameters_of
from trainer.evaluation import Distance
from trainer.methods.method import FloatMatrix

__all__ = ["MetricFitted"]


@dataclass(frozen=True)
class MetricFitted:
    metric: Metric
    distance: Distance = field(default="l2", init=False)

    @property
    def embedding_dim(self) -> int:
        return self.metric.embedding_dim

    @property
    def parameters(self) -> int:
        return sum(array.size for array in parameters_of(self.metric).values())

    def embed(self, features: FloatMatrix) -> FloatMatrix:
        return self.metric.embed(features)
