"""The one interface: a method is fitted on labels or pairs, and embeds features.

Methods are given raw features and normalise them as they need: l1 for the chi2 kernel, l2 for the linear ones.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

from embedding.kernel import shifted_chi2_kernel
from embedding.metric import l1_normalised
from trainer.errors import BadDataset
from trainer.evaluation import Distance
from trainer.membership import Membership
from trainer.sampling import Labels, PairIndices, draw_pairs, generator

__all__ = ["Distance", "Fitted", "FloatMatrix", "Method", "TrainingSet"]

FloatMatrix = npt.NDArray[np.float32]


@dataclass(frozen=True)
class TrainingSet:
    """n images to learn from, with what is known of them: one class each, several classes each, or pairs."""

    features: FloatMatrix  # (n, D), finite, non-negative, not normalised
    known: Labels | Membership | PairIndices  # labels (n,); memberships (n, C)

    def drawn_pairs(self, count: int, seed: int) -> PairIndices:
        """The pairs that are given, or `count` drawn by class: the same for every method of a seed."""
        if isinstance(self.known, PairIndices):
            return self.known
        return draw_pairs(self.known, count, generator(seed, "training pairs", 0))

    def as_pairs(self, count: int, wrong: float, seed: int) -> "TrainingSet":
        """Nothing known but so many pairs, drawn by class, a share of them wrong, and the images that they name."""
        pairs = self.drawn_pairs(count, seed).with_wrong(wrong, generator(seed, "wrong pairs", 0))
        named = pairs.named(len(self.features))
        return TrainingSet(self.features[named], pairs.within(named))

    @cached_property
    def chi2_kernel(self) -> FloatMatrix:
        """k(x_i, x_j) of all images, (n, n): O(n^2 D), so it is made once for all fits that need it."""
        histograms = torch.from_numpy(l1_normalised(self.features))
        return np.asarray(shifted_chi2_kernel(histograms, histograms).numpy())

    def single_labelled(self) -> tuple[FloatMatrix, Labels]:
        """Features (r, D) and classes (r,) of the images that have exactly one class.

        Raises: BadDataset where there are pairs instead of classes, or fewer than two classes are left.
        """
        if isinstance(self.known, PairIndices):
            raise BadDataset("This method learns from classes, and the source has pairs: use ml, kml, nml or nml-deep.")
        features, labels = self.features, self.known
        if isinstance(labels, Membership):
            single = labels.single
            features, labels = features[single], labels.matrix[single].argmax(1)
        if len(np.unique(labels)) < 2:
            raise BadDataset("This method needs images of two classes that have one label each.")
        return features, labels


class Fitted(Protocol):
    """What a method has learned."""

    @property
    def distance(self) -> Distance:
        """How two embeddings are compared."""

    @property
    def embedding_dim(self) -> int:
        """d, or D for raw features."""

    @property
    def parameters(self) -> int:
        """Numbers that must be kept to embed a new image."""

    def embed(self, features: FloatMatrix) -> FloatMatrix:
        """Features (n, D), not normalised -> embeddings (n, d), float32."""


class Method(Protocol):
    def fit(self, data: TrainingSet, d: int, seed: int) -> Fitted:
        """Learn an embedding of d dimensions; the same seed gives the same result.

        Raises: BadDataset if the data do not allow it, with the fact and the remedy.
        """
