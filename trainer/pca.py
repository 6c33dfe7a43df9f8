"""Principal components: a baseline, and where the linear methods start."""

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA

from embedding.metric import LinearMetric, l2_normalised
from trainer.errors import BadDataset

__all__ = ["after", "centred", "fit_pca", "principal_components"]

FloatMatrix = npt.NDArray[np.float32]
Wide = npt.NDArray[np.float64]

# Up to this share of all components arpack is faster than a full decomposition, far beyond it thirty times as slow.
_FEW = 1 / 40


def principal_components(vectors: FloatMatrix, d: int) -> tuple[Wide, Wide]:
    """The d leading components (d, p) of vectors (n, p), and their mean (p,).

    Raises: BadDataset if d is more than n or p allow, or if all vectors are the same.
    """
    if d > min(vectors.shape):
        raise BadDataset(
            f"PCA to d = {d} needs at least {d} images and features, got {vectors.shape}: use a smaller d."
        )
    if (vectors == vectors[0]).all():
        raise BadDataset("All images have the same features: there is nothing to tell apart.")
    pca = PCA(d, svd_solver=_solver(d, *vectors.shape), random_state=0).fit(vectors.astype(np.float64))
    return pca.components_, pca.mean_


def fit_pca(features: FloatMatrix, d: int) -> LinearMetric:
    """PCA of l2-normalised features (n, D), without whitening.

    Raises: BadDataset if d is more than n or D allow, or if all images are the same.
    """
    return centred(*principal_components(l2_normalised(features), d))


def centred(weights: Wide, mean: Wide) -> LinearMetric:
    """x -> W (x - mean). weights: (d, D), mean: (D,)."""
    return LinearMetric(np.ascontiguousarray(weights, np.float32), (-weights @ mean).astype(np.float32))


def after(pca: LinearMetric, L: Wide) -> LinearMetric:
    """One map for PCA to p dimensions and L (d, p) behind it."""
    weights, offset = L @ pca.weights.astype(np.float64), L @ pca.offset.astype(np.float64)
    return LinearMetric(np.ascontiguousarray(weights, np.float32), offset.astype(np.float32))


def _solver(d: int, n: int, p: int) -> str:
    """The fastest of those that are exact to machine precision."""
    if d <= _FEW * min(n, p):
        return "arpack"
    return "covariance_eigh" if n >= p else "full"
