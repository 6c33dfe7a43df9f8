"""Measures of retrieval: mprec@K by the paper's protocol, and AUC over pairs."""

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from trainer.sampling import PairIndices

__all__ = ["all_pairs", "mean_precision_at_k", "pair_auc", "squared_distances"]

# Elements of the block of distances that is held at once: 64 MB of float64.
_BLOCK_ELEMENTS = 8_000_000


def mean_precision_at_k(vectors: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], k: int) -> float:
    """mprec@K: every image is a query and all others are the gallery; precision of the K nearest by squared L2
    distance, averaged over the queries of a class, then over classes. Between 0 and 1.

    vectors: (n, d), labels: (n,). Equal distances are ranked by position. With fewer than K others, all of them count.
    Memory is O(block x n), not O(n x n). Source: Sharma and Schiele, ICCV 2015, experimental setup.

    >>> vectors = np.array([[0.0], [0.1], [1.0], [1.1]], np.float32)
    >>> mean_precision_at_k(vectors, np.array([0, 0, 1, 1]), k=1)
    1.0
    >>> mean_precision_at_k(vectors, np.array([0, 0, 1, 1]), k=3)
    0.3333333333333333
    """
    n = len(vectors)
    k = min(k, n - 1)
    precision = np.empty(n)
    exact = vectors.astype(np.float64)  # |x|^2 + |y|^2 - 2xy cancels in float32
    norms = np.square(exact).sum(1)
    step = max(1, _BLOCK_ELEMENTS // n)
    for start in range(0, n, step):
        block = slice(start, min(n, start + step))
        distances = norms[block, None] + norms[None] - 2 * exact[block] @ exact.T  # (block, n)
        distances[np.arange(len(distances)), np.arange(block.start, block.stop)] = np.inf  # not its own neighbour
        nearest = _k_smallest(distances, k)
        precision[block] = (labels[nearest] == labels[block, None]).mean(1)
    per_class = np.bincount(labels, weights=precision) / np.maximum(np.bincount(labels), 1)
    return float(per_class[np.unique(labels)].mean())


def _k_smallest(distances: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.int64]:
    """Positions (rows, k) of the k smallest of each row, equal values by position."""
    bound = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    result = np.empty((len(distances), k), np.int64)
    for row, (values, limit) in enumerate(zip(distances, bound, strict=True)):
        candidates = np.flatnonzero(values <= limit[0])
        result[row] = candidates[np.argsort(values[candidates], kind="stable")[:k]]
    return result


def squared_distances(embeddings: npt.NDArray[np.float32], pairs: PairIndices) -> npt.NDArray[np.float32]:
    """Squared L2 distance of each pair, (P,)."""
    distances: npt.NDArray[np.float32] = np.square(embeddings[pairs.left] - embeddings[pairs.right]).sum(1)
    return distances


def pair_auc(distances: npt.NDArray[np.float32], similar: npt.NDArray[np.bool_]) -> float:
    """The chance that a similar pair is closer than a dissimilar one; 0.5 is guessing. Needs both kinds."""
    return float(roc_auc_score(similar, -distances))


def all_pairs(labels: npt.NDArray[np.int64], limit: int, rng: np.random.Generator) -> PairIndices:
    """All pairs of labelled images, or an even sample of `limit` of them where there are more."""
    n = len(labels)
    if n * (n - 1) // 2 <= limit:
        left, right = np.triu_indices(n, k=1)
    else:
        left = rng.integers(n, size=limit)
        right = (left + rng.integers(1, n, size=limit)) % n
    return PairIndices(left, right, labels[left] == labels[right])
