"""What a fit of NML learns from."""

from dataclasses import dataclass, field

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
    # Where fits of these data start, by d and seed: several fits of a network start at the same discriminant.
    starts: dict[tuple[int, int], npt.NDArray[np.float32]] = field(default_factory=dict, compare=False, repr=False)

    def within(self, chosen: npt.NDArray[np.bool_]) -> "TrainingData":
        """The part of the chosen images; pairs with an end outside are left out. chosen: mask (n,)."""
        known = self.known[chosen] if isinstance(self.known, np.ndarray) else self.known.within(chosen)
        verdicts = None if self.verdicts is None else self.verdicts.within(chosen)
        return TrainingData(np.ascontiguousarray(self.histograms[chosen]), known, verdicts)

    @property
    def single_labels(self) -> Labels:
        """The class of each image, (n,); -1 where there is none, where there are several, and where pairs are known."""
        if isinstance(self.known, PairIndices):
            return np.full(len(self.histograms), -1)
        if isinstance(self.known, Membership):
            return np.where(self.known.single, self.known.matrix.argmax(1), -1)
        return self.known

    @property
    def given_pairs(self) -> PairIndices:
        """The pairs that somebody gave, (P,); those that classes make are not among them."""
        if isinstance(self.known, PairIndices):
            return self.known
        return PairIndices.none() if self.verdicts is None else self.verdicts

    @property
    def learnable(self) -> bool:
        """Whether there are similar and dissimilar pairs in it."""
        if isinstance(self.known, PairIndices):
            return bool(self.known.similar.any() and not self.known.similar.all())
        if isinstance(self.known, Membership):
            return self.known.has_both_kinds
        counts = np.bincount(self.known[self.known >= 0])
        return bool(len(counts) and (counts > 0).sum() >= 2 and counts.max() >= 2)
