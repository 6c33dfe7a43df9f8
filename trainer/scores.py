"""What a metric is worth on images and verdicts that it has not learned from.

For each query and each pair by itself, so that two metrics can be compared on the same ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.metric import Metric
from embedding.model_file import Calibration
from trainer.calibration import fit_calibration
from trainer.evaluation import all_pairs, nearest_others, squared_distances
from trainer.learning_set import LearningSet, Mask
from trainer.membership import Membership
from trainer.sampling import Labels, PairIndices, are_similar, draw_pairs, generator

__all__ = ["Difference", "FoldScores", "K", "Values", "calibration_of", "difference", "score", "similar_others"]

K = 10
_PAIRS = 5000  # of images with a label, for the calibration; more change its third digit
_LEAST_PAIRS = 10  # of each kind, for a calibration

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FoldScores:
    """Of one metric on one fold."""

    precision: Values  # (Q,), of each held-out labelled image that has another one of its class to find
    weights: Values  # (Q,), each class's add up to the same
    classes: list[str]  # (Q,), label of each query
    separation: Values  # (P,), of each held-out verdict; the mean over both kinds is the AUC
    similar: npt.NDArray[np.bool_]  # (P,)
    distances: npt.NDArray[np.float32]  # (R,), squared, of pairs of held-out images
    same: npt.NDArray[np.bool_]  # (R,), whether these are of the same kind

    def to_json(self) -> dict[str, Any]:
        return {name: value if isinstance(value, list) else value.tolist() for name, value in self.__dict__.items()}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "FoldScores":
        """Raises: KeyError, TypeError, ValueError."""
        return cls(
            precision=np.array(fields["precision"], np.float64),
            weights=np.array(fields["weights"], np.float64),
            classes=[str(each) for each in fields["classes"]],
            separation=np.array(fields["separation"], np.float64),
            similar=np.array(fields["similar"], bool),
            distances=np.array(fields["distances"], np.float32),
            same=np.array(fields["same"], bool),
        )


@dataclass(frozen=True)
class Difference:
    """Of a measure of two metrics on the same held-out queries or pairs of all folds."""

    before: float
    after: float
    error: float  # standard error of after - before
    count: int

    @property
    def mean(self) -> float:
        return self.after - self.before

    @property
    def interval(self) -> tuple[float, float]:
        """95%, by the normal approximation."""
        return self.mean - 1.96 * self.error, self.mean + 1.96 * self.error


def score(metric: Metric, data: LearningSet, out: Mask, seed: int) -> FoldScores:
    """Measure on the images that are out and the verdicts between two of them. out: (n,).

    Every labelled image that is out is a query among those others. Its precision is that of its K nearest, K = 10, or
    as many as there are of its class where these are fewer (R-precision).
    """
    outside = data.within(out)
    embeddings = metric.embed(outside.features)
    precision, weights, classes = _precisions(embeddings, outside)
    pairs = outside.telling
    near = squared_distances(embeddings, pairs)
    judged = _calibration_pairs(outside, seed)
    return FoldScores(
        precision,
        weights,
        classes,
        _separations(near, pairs.similar),
        pairs.similar,
        squared_distances(embeddings, judged),
        judged.similar,
    )


def difference(
    before: Sequence[FoldScores], after: Sequence[FoldScores], measure: str, data: LearningSet | None = None
) -> Difference | None:
    """Of "mprec_at_10" or "pair_auc" over all folds; None where there is nothing to measure it on.

    data: what the scores are of. Where its images do not stand for the collection, or where verdicts share images,
    fewer of them are independent, and the standard error is greater for it.
    """
    values = _weighted if measure == "mprec_at_10" else _balanced
    (was, weights, spread), (is_, _, _) = values(before), values(after)
    if not len(was):
        return None
    gain = is_ - was
    mean = float(weights @ gain)
    error = float(np.sqrt(np.square(spread * weights) @ np.square(gain - mean)))
    # With few queries of which most rank alike, the spread looks smaller than it is: add one that went either way.
    error = float(np.hypot(error, 0.5 * np.square(weights).sum()))
    if data is not None:
        independence = data.evenness if measure == "mprec_at_10" else data.pair_independence
        error /= float(np.sqrt(max(independence, 1 / len(was))))
    return Difference(float(weights @ was), float(weights @ is_), error, len(was))


def calibration_of(scores: Sequence[FoldScores]) -> Calibration | None:
    """Fitted to the pairs of all folds; None where there are too few of a kind, and where none fits."""
    distances = np.concatenate([each.distances for each in scores] or [np.empty(0, np.float32)])
    same = np.concatenate([each.same for each in scores] or [np.empty(0, bool)])
    if min(same.sum(), (~same).sum()) < _LEAST_PAIRS:
        return None
    return fit_calibration(distances, same)


def _weighted(scores: Sequence[FoldScores]) -> tuple[Values, Values, float]:
    weights = np.concatenate([each.weights for each in scores] or [np.empty(0)])
    return (
        np.concatenate([each.precision for each in scores] or [np.empty(0)]),
        weights / max(weights.sum(), 1e-12),
        1.0,
    )


def _balanced(scores: Sequence[FoldScores]) -> tuple[Values, Values, float]:
    """Both kinds weigh one half; the variance of an AUC is the sum of those of its two kinds (DeLong et al., 1988)."""
    values = np.concatenate([each.separation for each in scores] or [np.empty(0)])
    similar = np.concatenate([each.similar for each in scores] or [np.empty(0, bool)])
    if similar.all() or not similar.any():
        return np.empty(0), np.empty(0), 2.0
    return values, np.where(similar, 0.5 / similar.sum(), 0.5 / (~similar).sum()), 2.0


def _precisions(embeddings: npt.NDArray[np.float32], outside: LearningSet) -> tuple[Values, Values, list[str]]:
    rows = np.flatnonzero(outside.has_label)
    if len(rows) < 2:
        return np.empty(0), np.empty(0), []
    labels = [str(outside.labels[row]) for row in rows]
    known: Labels | Membership = Membership.of(labels) if outside.has_several else outside.numbers[rows]
    others = similar_others(known)
    nearest = nearest_others(embeddings[rows], K)
    asked = np.flatnonzero(others)
    right = np.cumsum(are_similar(known, nearest[asked], np.repeat(asked[:, None], nearest.shape[1], 1)), axis=1)
    k = np.minimum(others[asked], nearest.shape[1])
    weights = 1 / (others[asked] + 1.0)
    return right[np.arange(len(asked)), k - 1] / k, weights, [labels[i] for i in asked]


def similar_others(known: Labels | Membership) -> npt.NDArray[np.int64]:
    """How many others are similar to each, (r,)."""
    if isinstance(known, Membership):
        matrix = known.matrix.astype(np.float32)
        return np.asarray(((matrix @ matrix.T) > 0).sum(1) - 1, np.int64)
    return np.bincount(known)[known] - 1


def _separations(distances: npt.NDArray[np.float32], similar: npt.NDArray[np.bool_]) -> Values:
    """Of each pair the share of the other kind's pairs that lie on its right side, ties counting half. (P,)"""
    found = np.full(len(distances), 0.5)
    near, far = np.sort(distances[similar]), np.sort(distances[~similar])
    if not len(near) or not len(far):
        return found
    farther = (
        len(far) - (np.searchsorted(far, distances[similar]) + np.searchsorted(far, distances[similar], "right")) / 2
    )
    nearer = (np.searchsorted(near, distances[~similar]) + np.searchsorted(near, distances[~similar], "right")) / 2
    found[similar], found[~similar] = farther / len(far), nearer / len(near)
    return found


def _calibration_pairs(outside: LearningSet, seed: int) -> PairIndices:
    """The verdicts, and pairs of labelled images by their labels."""
    rows = np.flatnonzero(outside.has_label)
    labels = [str(outside.labels[row]) for row in rows]
    known: Labels | Membership = Membership.of(labels) if outside.has_several else outside.numbers[rows]
    few = len(rows) * (len(rows) - 1) // 2 <= _PAIRS
    kinds = len(set(labels))
    if len(rows) < 2:
        return outside.telling
    drawable = 1 < kinds < len(rows)
    made = all_pairs(known) if few or not drawable else draw_pairs(known, _PAIRS, generator(seed, "calibration", 0))
    pairs = outside.telling
    return PairIndices(
        np.concatenate([pairs.left, rows[made.left]]),
        np.concatenate([pairs.right, rows[made.right]]),
        np.concatenate([pairs.similar, made.similar]),
    )
