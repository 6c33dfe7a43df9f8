"""Which images and pairs a step sees. Every draw comes from (seed, step) alone, so that a resumed run repeats it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Batch", "BatchSampler", "ClassBatches", "Labels", "PairBatches", "PairIndices", "draw_pairs", "generator"]

Indices = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PairIndices:
    """P pairs as positions into rows of features."""

    left: Indices  # (P,)
    right: Indices  # (P,)
    similar: npt.NDArray[np.bool_]  # (P,)

    def __len__(self) -> int:
        return len(self.left)

    def within(self, chosen: npt.NDArray[np.bool_]) -> "PairIndices":
        """The pairs whose two images are both chosen, as positions among the chosen rows. chosen: mask (n,)."""
        position = np.cumsum(chosen) - 1
        both = chosen[self.left] & chosen[self.right]
        return PairIndices(position[self.left[both]], position[self.right[both]], self.similar[both])


@dataclass(frozen=True)
class Batch:
    """Distinct rows of the training features, and pairs as positions among these rows."""

    rows: Indices  # (r,)
    pairs: PairIndices


class BatchSampler(Protocol):
    def batch(self, rng: np.random.Generator) -> Batch:
        """Draw one batch."""


def generator(seed: int, phase: str, step: int) -> np.random.Generator:
    """The random numbers of one step of one phase of a run."""
    return np.random.default_rng([seed, *phase.encode(), step])


class ClassBatches:
    """A few classes, a few images of each; the pairs are all pairs within the batch."""

    def __init__(self, labels: Labels, classes_per_batch: int, images_per_class: int):
        self._members = _members(labels)
        self._labels = labels
        self._classes = min(classes_per_batch, len(self._members))
        self._images = images_per_class

    def batch(self, rng: np.random.Generator) -> Batch:
        chosen = rng.choice(len(self._members), self._classes, replace=False)
        rows = np.concatenate(
            [rng.choice(m, min(self._images, len(m)), replace=False) for m in (self._members[c] for c in chosen)]
        )
        left, right = np.triu_indices(len(rows), k=1)
        similar = self._labels[rows[left]] == self._labels[rows[right]]
        return Batch(rows, PairIndices(left, right, similar))


class PairBatches:
    """Given pairs, drawn with replacement, half of them similar."""

    def __init__(self, pairs: PairIndices, pairs_per_batch: int):
        self._pairs = pairs
        self._by_sign = [np.flatnonzero(pairs.similar), np.flatnonzero(~pairs.similar)]
        self._half = pairs_per_batch // 2

    def batch(self, rng: np.random.Generator) -> Batch:
        chosen = np.concatenate([rng.choice(sign, self._half) for sign in self._by_sign])
        ends = np.stack([self._pairs.left[chosen], self._pairs.right[chosen]])
        rows, positions = np.unique(ends, return_inverse=True)
        left, right = positions.reshape(ends.shape)
        return Batch(rows, PairIndices(left, right, self._pairs.similar[chosen]))


def draw_pairs(labels: Labels, count: int, rng: np.random.Generator) -> PairIndices:
    """`count` pairs by labels, every second one similar; images are drawn evenly. The paper's training pairs.

    Images whose class has no second one take part in dissimilar pairs only. labels: (n,), at least two classes and at
    least one class of two.
    """
    sizes = np.bincount(labels)
    start = np.concatenate([[0], np.cumsum(sizes)])  # (classes + 1,) where each class begins in `order`
    order = np.argsort(labels, kind="stable")  # images sorted by class
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    similar = np.arange(count) % 2 == 0
    paired = np.flatnonzero(sizes[labels] > 1)
    left = np.where(similar, rng.choice(paired, count), rng.integers(len(labels), size=count))
    own = labels[left]
    # A step of 1 .. size - 1 around the own class never ends at the start; likewise for all images outside it.
    step = 1 + (rng.random(count) * (sizes[own] - 1)).astype(np.int64)
    same = start[own] + (rank[left] - start[own] + step) % sizes[own]
    other = start[own + 1] + (rng.random(count) * (len(labels) - sizes[own])).astype(np.int64)
    right = order[np.where(similar, same, other % len(labels))]
    return PairIndices(left, right, similar)


def _members(labels: Labels) -> Sequence[Indices]:
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]
