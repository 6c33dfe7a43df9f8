"""Linear embeddings by scikit-learn: PCA, LDA, NCA. All learn from l2-normalised features."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from embedding.metric import l2_normalised
from trainer.errors import BadConfig, BadDataset
from trainer.methods.fitted import MetricFitted
from trainer.methods.method import TrainingSet
from trainer.pca import after, centred, fit_pca

__all__ = ["LDA", "NCA", "PCA"]


@dataclass(frozen=True)
class PCA:
    """The d directions of largest variance; uses no labels."""

    def fit(self, data: TrainingSet, d: int, seed: int) -> MetricFitted:  # noqa: ARG002 - nothing is drawn
        return MetricFitted(fit_pca(data.features, d))


@dataclass(frozen=True)
class LDA:
    """Fisher's discriminant directions: largest variance between classes relative to that within them.

    C classes span C - 1 directions, so that the embedding has min(d, C - 1) dimensions. The variance within classes is
    shrunk towards a multiple of the identity, without which D > n has no solution: by Ledoit and Wolf's estimate
    ("auto") or by a share between 0 and 1. Images whose class has no second one say nothing about variance within
    classes and are left out. Raises: BadConfig for another shrinkage.
    """

    shrinkage: float | str = "auto"

    def __post_init__(self) -> None:
        if self.shrinkage != "auto" and not (isinstance(self.shrinkage, int | float) and 0 < self.shrinkage <= 1):
            raise BadConfig(f"The shrinkage of LDA must be auto or lie in (0, 1], got {self.shrinkage}.")

    def fit(self, data: TrainingSet, d: int, seed: int) -> MetricFitted:  # noqa: ARG002 - nothing is drawn
        features, labels = data.single_labelled()
        _, own, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        several = sizes[own] > 1
        if (sizes > 1).sum() < 2:
            raise BadDataset("LDA needs two classes of at least two images each: label more images.")
        inputs = l2_normalised(features[several]).astype(np.float64)
        lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=self.shrinkage)
        try:
            lda.fit(inputs, labels[several])
        except np.linalg.LinAlgError as error:
            raise BadDataset("The images of each class vary too little for LDA: add others.") from error
        kept = min(d, int((sizes > 1).sum()) - 1, inputs.shape[1])
        return MetricFitted(centred(lda.scalings_.T[:kept], inputs.mean(0)))


@dataclass(frozen=True)
class NCA:
    """Neighbourhood components analysis: L that makes a stochastic nearest neighbour most often one of the own class.

    Maximises sum_i sum_{j of i's class} p_ij, p_ij = exp(-d2(i, j)) / sum_{l != i} exp(-d2(i, l)), from the directions
    of PCA, each scaled by `start_scale`, within the first `reduce_to` principal components (fewer where n or D are).
    Few iterations from there stop early: validation falls with more.
    Source: Goldberger, Roweis, Hinton and Salakhutdinov, NIPS 2004.
    """

    reduce_to: int = 256
    iterations: int = 5
    start_scale: float = 3.0

    def __post_init__(self) -> None:
        if self.reduce_to < 1 or self.iterations < 1 or not self.start_scale > 0:
            raise BadConfig(f"NCA needs reduce_to and iterations of at least 1 and a positive start_scale, got {self}.")

    def fit(self, data: TrainingSet, d: int, seed: int) -> MetricFitted:  # noqa: ARG002 - nothing is drawn
        features, labels = data.single_labelled()
        pca = fit_pca(features, max(d, min(self.reduce_to, *features.shape)))
        inputs = pca.embed(features)
        nca = NeighborhoodComponentsAnalysis(
            d, init=self.start_scale * np.eye(d, inputs.shape[1]), max_iter=self.iterations
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is stopped early on purpose
            nca.fit(inputs, labels)
        return MetricFitted(after(pca, nca.components_))
