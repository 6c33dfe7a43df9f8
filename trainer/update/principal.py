"""The first model of a collection about which nothing was said yet: it can be searched by principal components."""

import numpy as np

from embedding.metric import LinearMetric
from trainer.evaluation import squared_distances
from trainer.pca import fit_pca
from trainer.sampling import PairIndices, generator
from trainer.update.collection import CollectionData

__all__ = ["principal_metric"]

_MOST_ROWS = 20_000  # that components are taken from; a quarter of a gigabyte in float64 at D = 1280
_PAIRS = 10_000
_NEAR = 0.05  # of all pairs count as similar while nobody has said which are


def principal_metric(data: CollectionData, d: int, seed: int) -> tuple[LinearMetric, float]:
    """PCA to d dimensions, and the squared distance below which the nearest of random pairs are.

    Raises: BadDataset if d is more than n or D allow, or if all images are the same.
    """
    rng = generator(seed, "principal", 0)
    n = len(data)
    rows = np.sort(rng.choice(n, _MOST_ROWS, replace=False)) if n > _MOST_ROWS else np.arange(n)
    features = data.features[rows].astype(np.float32)
    metric = fit_pca(features, d)
    left, right = rng.integers(len(rows), size=(2, _PAIRS))
    apart = left != right
    pairs = PairIndices(left[apart], right[apart], np.zeros(apart.sum(), bool))
    threshold = float(np.quantile(squared_distances(metric.embed(features), pairs), _NEAR))
    return metric, threshold or float(np.finfo(np.float32).tiny)
