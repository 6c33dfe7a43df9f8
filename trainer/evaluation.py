"""Measures of retrieval: mprec@K by the paper's protocol, and AUC over pairs."""

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from trainer.errors import BadDataset
from trainer.sampling import PairIndices

__all__ = ["all_pairs", "mean_precision_at_k", "pair_auc", "squared_distances"]

# Elements of the block of distances that is held at once: 64 MB of float64.
_BLOCK_ELEMENTS = 8_000_000


def mean_precision_at_k(vectors: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], k: int) -> float:
    """mprec@K: every image is a query and all others are the gallery; precision of the K nearest by squared L2
    distance, averaged over the queries of a class, then over classes. Between 0 and 1.

    vectors: (n, d), labels: (n,). Equal distances are ranked by position. With fewer than K others, all of them count.
    The only image of a class has nothing to find and scores 0. Memory is O(block x n), not O(n x n).
    Raises: BadDataset for fewer than two images. Source: Sharma and Schiele, ICCV 2015, experimental setup.

    >>> vectors = np.array([[0.0], [0.1], [1.0], [1.1]], np.float32)
    >>> mean_precision_at_k(vectors, np.array([0, 0, 1, 1]), k=1)
    1.0
    >>> mean_precision_at_k(vectors, np.array([0, 0, 1, 1]), k=3)
    0.3333333333333333
    """
    nearest = _nearest_others(vectors.astype(np.float64), k)
    precision = (labels[nearest] == labels[:, None]).mean(1)  # (n,)
    per_class = np.bincount(labels, weights=precision) / np.maximum(np.bincount(labels), 1)
    return float(per_class[np.unique(labels)].mean())


def _nearest_others(vectors: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.int64]:
    """Positions (n, min(k, n - 1)) of each vector's nearest others, equal distances by position."""
    n = len(vectors)
    if n < 2:
        raise BadDataset(f"Precision needs a query and at least one other image, got {n} images.")
    k = min(k, n - 1)
    norms = np.square(vectors).sum(1)
    nearest = np.empty((n, k), np.int64)
    step = max(1, _BLOCK_ELEMENTS // n)
    for start in range(0, n, step):
        block = np.arange(start, min(n, start + step))
        approximate = norms[block, None] + norms - 2 * vectors[block] @ vectors.T  # (block, n)
        approximate[np.arange(len(block)), block] = np.inf  # not its own neighbour
        # What the k-th may be off by, and the others too: rounding of the products, relative to the longest vectors.
        slack = 1e-12 * (norms[block] + norms.max())
        bounds = np.partition(approximate, k - 1, axis=1)[:, k - 1] + slack
        for query, row, bound in zip(block, approximate, bounds, strict=True):
            candidates = np.flatnonzero(row <= bound)
            distances = np.square(vectors[candidates] - vectors[query]).sum(1)  # exact enough for ties to be ties
            nearest[query] = candidates[np.argsort(distances, kind="stable")[:k]]
    return nearest


def squared_distances(embeddings: npt.NDArray[np.float32], pairs: PairIndices) -> npt.NDArray[np.float32]:
    """Squared L2 distance of each pair, (P,)."""
    distances: npt.NDArray[np.float32] = np.square(embeddings[pairs.left] - embeddings[pairs.right]).sum(1)
    return distances


def pair_auc(distances: npt.NDArray[np.float32], similar: npt.NDArray[np.bool_]) -> float:
    """The chance that a similar pair is closer than a dissimilar one; 0.5 is guessing. Needs both kinds."""
    return float(roc_auc_score(similar, -distances))


def all_pairs(labels: npt.NDArray[np.int64]) -> PairIndices:
    """All n (n - 1) / 2 pairs of labelled images. labels: (n,)."""
    left, right = np.triu_indices(len(labels), k=1)
    return PairIndices(left, right, labels[left] == labels[right])
