"""What a metric is worth on held-out images and pairs: for each query and each pair, so that two can be compared."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from embedding.metric import Metric
from embedding.model_file import Calibration
from trainer.calibration import fit_calibration
from trainer.evaluation import all_pairs, class_weights, nearest_others, precisions_of_queries, squared_distances
from trainer.sampling import Labels, PairIndices, draw_pairs, generator
from trainer.update.collection import CollectionData
from trainer.update.held_out import HeldOut

__all__ = ["K", "OutsidePairs", "Queries", "distances_of", "outside_pairs", "queries_of"]

K = 10

_LEAST_QUERIES = 20  # with fewer the measure is left out: its interval would be chance
_LEAST_TO_CALIBRATE = 10  # pairs of each kind; the curve through a few that lie close together is as good as a step
_ENOUGH_FOR_TWO = 400  # pairs
_MOST_PAIRS = 20_000  # by labels; more change a calibration's third digit

Distances = npt.NDArray[np.float32]
Truths = npt.NDArray[np.bool_]
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Queries:
    """Held-out labelled images, each of them a query among the others; those alone in their category are none."""

    data: CollectionData  # all n of them
    labels: Labels  # (n,)
    names: list[str]  # of the labels
    asked: npt.NDArray[np.int64]  # (Q,) positions of the queries
    weights: Values  # (Q,) they add up to 1, each category's to the same

    def precisions(self, metric: Metric) -> Values:
        """The share of right ones among the K nearest of each query, (Q,). K is 10, or as many as its category has
        others: so that 1 can be reached."""
        nearest = nearest_others(metric.embed(self.data.features), K)
        by_k = precisions_of_queries(nearest, self.labels, range(1, K + 1))
        table = np.stack([by_k[k] for k in range(1, K + 1)])  # (K, n)
        others = np.bincount(self.labels)[self.labels] - 1
        return np.asarray(table[np.minimum(others[self.asked], K) - 1, self.asked])


def queries_of(labelled: CollectionData) -> Queries | None:
    """None where there are too few of them to tell anything."""
    names, labels = np.unique([str(category) for category in labelled.categories], return_inverse=True)
    asked = np.flatnonzero(np.bincount(labels, minlength=1)[labels] > 1)
    if len(asked) < _LEAST_QUERIES or len(np.unique(labels[asked])) < 2:
        return None
    return Queries(labelled, labels, names.tolist(), asked, class_weights(labels[asked]))


def distances_of(metric: Metric, data: CollectionData) -> Distances:
    """Squared distance of each pair, (P,). Only images that a pair names are embedded."""
    ends = np.stack([data.pairs.left, data.pairs.right])
    rows, positions = np.unique(ends, return_inverse=True)
    left, right = positions.reshape(ends.shape)
    return squared_distances(metric.embed(data.features[rows]), PairIndices(left, right, data.pairs.similar))


@dataclass(frozen=True)
class OutsidePairs:
    """Pairs that no model has learned from."""

    data: CollectionData  # with these pairs (P,)

    def distances(self, metric: Metric) -> Distances:
        """Squared, (P,)."""
        return distances_of(metric, self.data)

    @property
    def similar(self) -> Truths:
        return self.data.pairs.similar

    def calibration(self, metric: Metric) -> Calibration | None:
        """None where there are too few pairs of a kind, and where none fits."""
        if min(self.similar.sum(), (~self.similar).sum()) < _LEAST_TO_CALIBRATE:
            return None
        return fit_calibration(self.distances(metric), self.similar)

    def halves(self, seed: int) -> tuple["OutsidePairs", "OutsidePairs | None"]:
        """One to fit a calibration to, and one to see whether it is right; all and None where there are few."""
        if len(self.similar) < _ENOUGH_FOR_TWO:
            return self, None
        first = generator(seed, "halves", 0).random(len(self.similar)) < 0.5
        return OutsidePairs(self.data.with_pairs(first)), OutsidePairs(self.data.with_pairs(~first))


def outside_pairs(held: HeldOut, seed: int) -> OutsidePairs:
    """The held-out pairs, and pairs of held-out labelled images by their labels."""
    judged = held.judged
    if queries_of(held.labelled) is None:
        return OutsidePairs(judged)
    by_label = _label_pairs(judged, held.labelled, seed)
    both = PairIndices(
        np.concatenate([judged.pairs.left, by_label.left]),
        np.concatenate([judged.pairs.right, by_label.right]),
        np.concatenate([judged.pairs.similar, by_label.similar]),
    )
    return OutsidePairs(judged.judged_by(both))


def _label_pairs(data: CollectionData, labelled: CollectionData, seed: int) -> PairIndices:
    """Pairs of the labelled images, as positions among all images."""
    _, labels = np.unique([str(category) for category in labelled.categories], return_inverse=True)
    n = len(labels)
    few = n * (n - 1) // 2 <= _MOST_PAIRS
    pairs = all_pairs(labels) if few else draw_pairs(labels, _MOST_PAIRS, generator(seed, "calibration", 0))
    position = {image_id: row for row, image_id in enumerate(data.ids)}
    rows = np.array([position[image_id] for image_id in labelled.ids], np.int64)
    return PairIndices(rows[pairs.left], rows[pairs.right], pairs.similar)
