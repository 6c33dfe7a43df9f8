"""What a metric is worth on images that it has not learned from."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.metric import Metric
from trainer.calibration import fit_calibration
from trainer.evaluation import (
    all_pairs,
    class_weights,
    nearest_others,
    pair_auc,
    precisions_of_queries,
    squared_distances,
)
from trainer.membership import Membership
from trainer.sampling import Labels, PairIndices, draw_pairs, generator
from trainer.training_data import TrainingData

__all__ = ["Measured", "Weights", "measure", "measured_pairs", "weights_of"]

# Held-out pairs that are measured; more change the third digit only. Where there are more, half of those drawn are
# similar: of many classes a plain sample would hold hardly any.
_MEASURED_PAIRS = 200_000

Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """One metric on the held-out images."""

    figures: dict[str, Any]  # what goes into the run folder and the model file
    scores: npt.NDArray[np.float64]  # precision of each query (n,), or whether each pair is told rightly (P,)
    weights: Weights  # of the scores; they add up to 1, and each class, or kind of pair, weighs the same

    @property
    def score(self) -> float:
        """mprec@K, or the mean of the shares of similar and of dissimilar pairs that are told rightly."""
        return float(self.weights @ self.scores)


def weights_of(outside: TrainingData) -> Weights:
    """Of the scores of any metric on these held-out images."""
    if not isinstance(outside.known, PairIndices):
        return class_weights(outside.known)
    similar = outside.known.similar
    weights: Weights = np.where(similar, 0.5 / similar.sum(), 0.5 / (~similar).sum())
    return weights


def measure(metric: Metric, outside: TrainingData, threshold: float, seed: int) -> Measured:
    """threshold: the squared distance below which images count as similar where no calibration can be fitted.

    outside: held-out images, with similar and dissimilar pairs among them.
    """
    embeddings = metric.embed(outside.histograms)
    pairs = measured_pairs(outside.known, seed)
    distances = squared_distances(embeddings, pairs)
    calibration = fit_calibration(distances, pairs.similar)
    near = distances < (threshold if calibration is None else calibration.threshold)
    of_pairs = {
        "held_out_images": len(outside.histograms),
        "held_out_pairs": len(pairs),
        "pair_auc": pair_auc(distances, pairs.similar),
        "similar_below_b": float(near[pairs.similar].mean()),
        "dissimilar_below_b": float(near[~pairs.similar].mean()),
        "calibration": None if calibration is None else asdict(calibration),
    }
    weights = weights_of(outside)
    if isinstance(outside.known, PairIndices):
        return Measured(of_pairs, (near == pairs.similar).astype(np.float64), weights)
    k = _most_that_all_can_fill(outside.known)
    precision = precisions_of_queries(nearest_others(embeddings, k), outside.known, [k])[k]
    return Measured({f"mprec_at_{k}": float(weights @ precision)} | of_pairs, precision, weights)


def _most_that_all_can_fill(known: Labels | Membership) -> int:
    """10, or a lower K where a held-out class is smaller and could not fill ten places."""
    sizes = known.matrix.sum(0) if isinstance(known, Membership) else np.bincount(known)
    return max(1, min(10, int(sizes[sizes > 0].min()) - 1))


def measured_pairs(known: Labels | Membership | PairIndices, seed: int) -> PairIndices:
    """The pairs that distances are measured on: those that are known, all pairs of labelled images, or some of many."""
    if isinstance(known, PairIndices):
        return known
    n = len(known)
    if n * (n - 1) // 2 <= _MEASURED_PAIRS:
        return all_pairs(known)
    return draw_pairs(known, _MEASURED_PAIRS, generator(seed, "measured pairs", 0))
