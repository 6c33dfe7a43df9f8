"""Measures of retrieval: mprec@K by the paper's protocol, and AUC over pairs."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import manhattan_distances

from embedding.kernel import shifted_chi2_kernel
from trainer.errors import BadDataset
from trainer.membership import Membership
from trainer.sampling import Labels, PairIndices, are_similar, draw_pairs, generator

__all__ = [
    "Distance",
    "Indices",
    "all_pairs",
    "class_weights",
    "mean_precision_at_k",
    "mean_precisions",
    "measured_pairs",
    "nearest_others",
    "pair_auc",
    "precisions_of_queries",
    "squared_distances",
]

Distance = Literal["l2", "l1", "chi2"]
Indices = npt.NDArray[np.int64]

# Held-out pairs that are measured; more change the third digit only. Where there are more, half of those drawn are
# similar: of many classes a plain sample would hold hardly any.
_MEASURED_PAIRS = 200_000

# Elements of the block of distances that is held at once: 64 MB of float64.
_BLOCK_ELEMENTS = 8_000_000


def mean_precision_at_k(vectors: npt.NDArray[np.float32], known: Labels | Membership, k: int) -> float:
    """mprec@K: every image is a query and all others are the gallery; precision of the K nearest by squared L2
    distance, averaged over the queries of a class, then over classes. Between 0 and 1.

    vectors: (n, d), known: labels (n,) or memberships (n, C): there a result is right if it shares a class with the
    query. Equal distances are ranked by position. With fewer than K others, all of them count. The only image of a
    class has nothing to find and scores 0. Memory is O(block x n), not O(n x n).
    Raises: BadDataset for fewer than two images. Source: Sharma and Schiele, ICCV 2015, experimental setup.

    >>> vectors = np.array([[0.0], [0.1], [1.0], [1.1]], np.float32)
    >>> mean_precision_at_k(vectors, np.array([0, 0, 1, 1]), k=1)
    1.0
    >>> mean_precision_at_k(vectors, np.array([0, 0, 1, 1]), k=3)
    0.3333333333333333
    """
    return mean_precisions(nearest_others(vectors, k), known, [k])[k]


def mean_precisions(nearest: Indices, known: Labels | Membership, ks: Sequence[int]) -> dict[int, float]:
    """mprec@K for several K from one ranking: nearest (n, >= max K or all the others), K -> value in [0, 1]."""
    weights = class_weights(known)
    return {k: float(weights @ precision) for k, precision in precisions_of_queries(nearest, known, ks).items()}


def precisions_of_queries(
    nearest: Indices, known: Labels | Membership, ks: Sequence[int]
) -> dict[int, npt.NDArray[np.float64]]:
    """K -> the share of right ones among the K nearest of each query, (n,), from a ranking as for `mean_precisions`."""
    queries = np.repeat(np.arange(len(nearest)), nearest.shape[1]).reshape(nearest.shape)
    found = np.cumsum(are_similar(known, nearest, queries), axis=1)  # (n, k)
    return {k: found[:, min(k, nearest.shape[1]) - 1] / min(k, nearest.shape[1]) for k in ks}


def class_weights(known: Labels | Membership) -> npt.NDArray[np.float64]:
    """Weights (n,) of a mean over the images of a class, then over classes: they add up to 1, each class's to the same.
    An image of several classes has a part of each.

    >>> class_weights(np.array([0, 0, 1])).tolist()
    [0.25, 0.25, 0.5]
    """
    if not isinstance(known, Membership):
        sizes = np.bincount(known)
        own: npt.NDArray[np.float64] = 1 / sizes[known] / (sizes > 0).sum()
        return own
    sizes = known.matrix.sum(0)
    there = sizes > 0
    weights: npt.NDArray[np.float64] = known.matrix[:, there] @ (1 / sizes[there]) / there.sum()
    return weights


def nearest_others(vectors: npt.NDArray[np.float32], k: int, distance: Distance = "l2") -> Indices:
    """Positions (n, min(k, n - 1)) of each vector's nearest others, equal distances by position.

    vectors: (n, d); distance: "l2", "l1", or "chi2", which is sum (x - y)^2 / (x + y) and needs l1-normalised rows.
    Raises: BadDataset for fewer than two.
    """
    n = len(vectors)
    if n < 2:
        raise BadDataset(f"Precision needs a query and at least one other image, got {n} images.")
    k = min(k, n - 1)
    nearest = np.empty((n, k), np.int64)
    choose = _nearest_by_l2(vectors, k) if distance == "l2" else _nearest_by(_DISTANCES[distance], vectors, k)
    step = max(1, _BLOCK_ELEMENTS // n)
    for start in range(0, n, step):
        block = np.arange(start, min(n, start + step))
        nearest[block] = choose(block)
    return nearest


def _nearest_by_l2(vectors: npt.NDArray[np.float32], k: int) -> Callable[[Indices], Indices]:
    """Candidates by a fast product, ranked by exact differences: the product's rounding would part equal distances."""
    wide = vectors.astype(np.float64)
    norms = np.square(wide).sum(1)

    def choose(block: Indices) -> Indices:
        approximate = norms[block, None] + norms - 2 * wide[block] @ wide.T  # (block, n)
        approximate[np.arange(len(block)), block] = np.inf  # not its own neighbour
        # What the k-th may be off by, and the others too: rounding of the products, relative to the longest vectors.
        slack = 1e-12 * (norms[block] + norms.max())
        bounds = np.partition(approximate, k - 1, axis=1)[:, k - 1] + slack
        chosen = np.empty((len(block), k), np.int64)
        for i, (query, row, bound) in enumerate(zip(block, approximate, bounds, strict=True)):
            candidates = np.flatnonzero(row <= bound)
            distances = np.square(wide[candidates] - wide[query]).sum(1)  # exact enough for ties to be ties
            chosen[i] = candidates[np.argsort(distances, kind="stable")[:k]]
        return chosen

    return choose


def _nearest_by(
    distances: Callable[..., npt.NDArray[np.floating]], vectors: npt.NDArray[np.float32], k: int
) -> Callable[[Indices], Indices]:
    def choose(block: Indices) -> Indices:
        matrix = distances(vectors[block], vectors)
        matrix[np.arange(len(block)), block] = np.inf
        return np.argsort(matrix, axis=1, kind="stable")[:, :k]

    return choose


def _chi2_distances(x: npt.NDArray[np.float32], y: npt.NDArray[np.float32]) -> npt.NDArray[np.floating]:
    """sum (x - y)^2 / (x + y) = |x|_1 + |y|_1 - 2 k(x, y), for non-negative rows."""
    kernel = shifted_chi2_kernel(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    return np.asarray(x.sum(1)[:, None] + y.sum(1) - 2 * kernel)


_DISTANCES = {"l1": manhattan_distances, "chi2": _chi2_distances}


def squared_distances(embeddings: npt.NDArray[np.float32], pairs: PairIndices) -> npt.NDArray[np.float32]:
    """Squared L2 distance of each pair, (P,)."""
    distances: npt.NDArray[np.float32] = np.square(embeddings[pairs.left] - embeddings[pairs.right]).sum(1)
    return distances


def pair_auc(distances: npt.NDArray[np.float32], similar: npt.NDArray[np.bool_]) -> float:
    """The chance that a similar pair is closer than a dissimilar one; 0.5 is guessing. Needs both kinds."""
    return float(roc_auc_score(similar, -distances))


def all_pairs(known: Labels | Membership) -> PairIndices:
    """All n (n - 1) / 2 pairs of images. known: labels (n,) or memberships (n, C)."""
    left, right = np.triu_indices(len(known), k=1)
    return PairIndices(left, right, are_similar(known, left, right))


def measured_pairs(known: Labels | Membership, seed: int) -> PairIndices:
    """The pairs that distances are measured on: all pairs of labelled images, or some of many."""
    n = len(known)
    if n * (n - 1) // 2 <= _MEASURED_PAIRS:
        return all_pairs(known)
    return draw_pairs(known, _MEASURED_PAIRS, generator(seed, "measured pairs", 0))
