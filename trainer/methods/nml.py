"""NML as a method of an experiment: what `trainer train` learns, without its run folder."""

from dataclasses import dataclass

from embedding.metric import l1_normalised
from trainer.config import MiniBatch, Network, OnePair, TrainConfig
from trainer.fit import fit_metric
from trainer.methods.fitted import MetricFitted
from trainer.methods.method import TrainingSet
from trainer.training_data import TrainingData

__all__ = ["Nml"]


@dataclass(frozen=True)
class Nml:
    """phi(x) = [k(l_1, x), ..., k(l_d, x)], by mini-batches or by the paper's one-pair SGD; or the deep network.

    The one-pair SGD visits the pairs that ML and kML visit, in their order. Source: Sharma and Schiele, ICCV 2015.
    """

    optimiser: Network | MiniBatch | OnePair
    b: float = 0.1

    def fit(self, data: TrainingSet, d: int, seed: int) -> MetricFitted:
        config = TrainConfig(d=d, b=self.b, optimiser=self.optimiser, seed=seed)
        known = data.drawn_pairs(self.optimiser.pairs, seed) if isinstance(self.optimiser, OnePair) else data.known
        training = TrainingData(l1_normalised(data.features), known)
        return MetricFitted(fit_metric(training, config, None, "final"))
