"""What a fit of NML learns from."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trainer.membership import Membership
from trainer.sampling import Labels, PairIndices

__all__ = ["TrainingData"]


@dataclass(frozen=True)
class TrainingData:
    """l1-normalised features with what is known of them: a class each, or pairs."""

    histograms: npt.NDArray[np.float32]  # (n, D)
    known: Labels | Membership | PairIndices  # labels (n,); memberships (n, C)

    def within(self, chosen: npt.NDArray[np.bool_]) -> "TrainingData":
        """The part of the chosen images; pairs with an end outside are left out. chosen: mask (n,)."""
        known = self.known[chosen] if isinstance(self.known, np.ndarray) else self.known.within(chosen)
        return TrainingData(np.ascontiguousarray(self.histograms[chosen]), known)

    @property
    def learnable(self) -> bool:
        """Whether there are similar and dissimilar pairs in it."""
        if isinstance(self.known, PairIndices):
            return bool(self.known.similar.any() and not self.known.similar.all())
        if isinstance(self.known, Membership):
            return self.known.has_both_kinds
        counts = np.bincount(self.known)
        return bool(len(self.known) and (counts > 0).sum() >= 2 and counts.max() >= 2)
