"""Where verdicts go either way: about there the service asks for more, as an answer then tells most."""

import numpy as np

from embedding.metric import Metric
from trainer.evaluation import squared_distances
from trainer.sampling import PairIndices
from trainer.update.collection import CollectionData

__all__ = ["even_distance"]

_LEAST = 10  # verdicts of each kind


def even_distance(metric: Metric, data: CollectionData) -> float | None:
    """The squared distance that parts the verdicts with the fewest errors, None where there are too few of a kind.

    Unlike the calibration's threshold, which gives both kinds the same weight, it moves with how frequent each is.
    """
    similar = data.pairs.similar
    if min(similar.sum(), (~similar).sum()) < _LEAST:
        return None
    rows, ends = np.unique(np.stack([data.pairs.left, data.pairs.right]), return_inverse=True)
    left, right = ends.reshape(2, -1)
    distances = squared_distances(metric.embed(data.features[rows]), PairIndices(left, right, similar))
    order = np.argsort(distances, kind="stable")
    right = np.cumsum(np.where(similar[order], 1, -1))  # (P,): similar ones within, less dissimilar ones
    found = float(distances[order][np.argmax(right)])
    return found if found > 0 else None
