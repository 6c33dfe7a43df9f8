"""What a fit of NML learns from."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trainer.membership import Membership
from trainer.sampling import Labels, PairIndices

__all__ = ["TrainingData"]


@dataclass(frozen=True)
class TrainingData:
    """l1-normalised features with what is known of them: classes, pairs, or both."""

    histograms: npt.NDArray[np.float32]  # (n, D)
    known: Labels | Membership | PairIndices  # labels (n,), -1: none; memberships (n, C)
    verdicts: PairIndices | None = None  # pairs that are known beside classes

    def within(self, chosen: npt.NDArray[np.bool_]) -> "TrainingData":
        """The part of the chosen images; pairs with an end outside are left out. chosen: mask (n,)."""
        known = self.known[chosen] if isinstance(self.known, np.ndarray) else self.known.within(chosen)
        verdicts = None if self.verdicts is None else self.verdicts.within(chosen)
        return TrainingData(np.ascontiguousarray(self.histograms[chosen]), known, verdicts)

    @property
    def learnable(self) -> bool:
        """Whether there are similar and dissimilar pairs in it."""
        if isinstance(self.known, PairIndices):
            return bool(self.known.similar.any() and not self.known.similar.all())
        if isinstance(self.known, Membership):
            return self.known.has_both_kinds
        counts = np.bincount(self.known[self.known >= 0])
        return bool(len(counts) and (counts > 0).sum() >= 2 and counts.max() >= 2)
