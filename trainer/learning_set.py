"""Images with all that is known of them: what every learner is given, whichever command brought it together.

Rows are in the order of their content's sha256, and a content is there once, so that the same pictures and the same
words about them are the same learning set, from a folder or from a service.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from embedding.metric import FloatMatrix, l1_normalised, row_blocks
from trainer.evenness import evenness
from trainer.membership import SEPARATOR, Membership
from trainer.sampling import Labels, PairIndices, generator
from trainer.training_data import TrainingData

__all__ = ["LearningSet", "Mask"]

_LABEL_PAIRS = 2000  # similar pairs made of labels where there is one category only, and verdicts beside it

Mask = npt.NDArray[np.bool_]
Features = npt.NDArray[np.float16]


@dataclass(frozen=True)
class LearningSet:
    """n images in the order of their digests."""

    digests: list[bytes]  # (n,), sha256 of the contents, growing
    features: Features  # (n, D), as the backbone gave them
    labels: list[str | None]  # (n,)
    pairs: PairIndices  # (P,), what people said of two images; no pair is there twice
    separated: bool = False  # whether a label may name several classes, as in "cat|outdoor"

    @classmethod
    def of(
        cls,
        digests: Sequence[bytes],
        features: Features,
        labels: Sequence[str | None],
        pairs: PairIndices,
        *,
        separated: bool = False,
    ) -> "LearningSet":
        """From rows in any order; of rows with the same content the first one is taken, with the pairs of all."""
        _, first, row_of = np.unique(np.array(digests), return_index=True, return_inverse=True)
        ends = row_of[np.stack([pairs.left, pairs.right])]  # (2, P)
        low, high = ends.min(0, initial=len(first)), ends.max(0, initial=0)
        keys, chosen = np.unique(low * len(first) + high, return_index=True)
        chosen = chosen[keys // max(len(first), 1) != keys % max(len(first), 1)]  # a copy says nothing of its original
        return cls(
            [bytes(digests[i]) for i in first],
            np.ascontiguousarray(features[first]),
            [labels[i] for i in first],
            PairIndices(low[chosen], high[chosen], pairs.similar[chosen]),
            separated,
        )

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def has_label(self) -> Mask:
        """(n,)"""
        return np.array([label is not None for label in self.labels], bool)

    @cached_property
    def names(self) -> list[str]:
        """The labels there are, in alphabetical order."""
        return sorted({label for label in self.labels if label is not None})

    @cached_property
    def numbers(self) -> Labels:
        """Of each image the position of its label in `names`; -1: it has none. (n,)"""
        position = {name: i for i, name in enumerate(self.names)}
        return np.array([-1 if label is None else position[label] for label in self.labels], np.int64)

    @property
    def has_several(self) -> bool:
        """Whether some image has several classes."""
        return self.separated and any(SEPARATOR in name for name in self.names)

    @cached_property
    def agreeing(self) -> Mask:
        """Which pairs only repeat what the labels of both images say, (P,)."""
        left, right = self.numbers[self.pairs.left], self.numbers[self.pairs.right]
        if self.has_several:
            return np.zeros(len(self.pairs), bool)
        agreeing: Mask = (left >= 0) & (right >= 0) & ((left == right) == self.pairs.similar)
        return agreeing

    @cached_property
    def telling(self) -> PairIndices:
        """The pairs that say something which the labels do not."""
        return self.pairs.take(np.flatnonzero(~self.agreeing))

    @cached_property
    def evenness(self) -> float:
        """How much the images that something is known of stand for all, 0 to 1."""
        return evenness(self.histograms, self.has_label | self.telling.named(len(self)))

    @cached_property
    def pair_independence(self) -> float:
        """How many independent verdicts each counts as, 0 to 1: in an even set two an image that they name, at most."""
        named = int(self.telling.named(len(self)).sum())
        return self.evenness * min(1.0, 2 * named / max(len(self.telling), 1))

    @cached_property
    def fingerprint(self) -> str:
        """Of what is known, not of the images that nobody said anything about: equal means nothing new to learn."""
        digest = hashlib.sha256()
        for content, label in zip(self.digests, self.labels, strict=True):
            if label is not None:
                digest.update(content + label.encode("utf-8", "surrogatepass") + b"\n")
        pairs = self.telling
        for left, right, similar in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.similar.tolist(), strict=True):
            digest.update(self.digests[left] + self.digests[right] + (b"+" if similar else b"-"))
        return digest.hexdigest()

    def within(self, chosen: Mask) -> "LearningSet":
        """The part of the chosen images; pairs with an end outside are left out. chosen: (n,)."""
        rows = np.flatnonzero(chosen)
        return LearningSet(
            [self.digests[i] for i in rows],
            self.features[rows],
            [self.labels[i] for i in rows],
            self.pairs.within(chosen),
            self.separated,
        )

    def without(self, out: Mask) -> "LearningSet":
        """All images, without what is known of those that are out: labels, and pairs with one of them. out: (n,)."""
        pairs = self.pairs
        inside = ~(out[pairs.left] | out[pairs.right])
        labels = [None if is_out else label for label, is_out in zip(self.labels, out.tolist(), strict=True)]
        part = replace(self, labels=labels, pairs=pairs.take(np.flatnonzero(inside)))
        part.__dict__["histograms"] = self.histograms  # of the same rows: made once for all parts
        return part

    @cached_property
    def histograms(self) -> FloatMatrix:
        """l1-normalised features (n, D), made a block at a time: in between they are twice as wide."""
        histograms = np.empty(self.features.shape, np.float32)
        for rows in row_blocks(len(self)):
            histograms[rows] = l1_normalised(self.features[rows].astype(np.float32))
        return histograms

    def training_data(self, seed: int = 0) -> TrainingData:
        """What a fit takes: classes with the pairs beside them; pairs alone where classes tell nothing apart."""
        known = self._memberships() if self.has_several else self.numbers
        by_class = TrainingData(self.histograms, known, self.telling)
        if by_class.learnable or not len(self.telling):
            return by_class
        return TrainingData(self.histograms, self._with_label_pairs(seed))

    @property
    def learnable(self) -> bool:
        """Whether it says of some images that they are similar and of some that they are not."""
        return self.training_data().learnable

    def _memberships(self) -> Membership:
        return Membership.of([label or "" for label in self.labels])

    def _with_label_pairs(self, seed: int) -> PairIndices:
        """The pairs, and similar ones of a single category's images."""
        rows = np.flatnonzero(self.numbers >= 0)
        numbers = self.numbers[rows]
        if len(rows) < 2:
            return self.telling
        left, right = generator(seed, "label pairs", 0).integers(len(rows), size=(2, _LABEL_PAIRS))
        alike = (numbers[left] == numbers[right]) & (left < right)
        pairs = self.telling
        return PairIndices(
            np.concatenate([pairs.left, rows[left[alike]]]),
            np.concatenate([pairs.right, rows[right[alike]]]),
            np.concatenate([pairs.similar, np.ones(int(alike.sum()), bool)]),
        )
