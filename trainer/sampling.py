"""Which images and pairs a step sees. Every draw comes from (seed, step) alone, so that a resumed run repeats it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trainer.errors import BadDataset
from trainer.membership import Membership

__all__ = [
    "Batch",
    "BatchSampler",
    "ClassBatches",
    "Labels",
    "PairBatches",
    "PairIndices",
    "are_similar",
    "batches_of",
    "draw_pairs",
    "generator",
]

Indices = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int64]

# Draws until a dissimilar pair of multi-labelled images must have come up: even one such pair in ten is found surely.
_TRIES = 1000


@dataclass(frozen=True)
class PairIndices:
    """P pairs as positions into rows of features."""

    left: Indices  # (P,)
    right: Indices  # (P,)
    similar: npt.NDArray[np.bool_]  # (P,)

    @classmethod
    def none(cls) -> "PairIndices":
        empty = np.empty(0, np.int64)
        return cls(empty, empty, np.empty(0, bool))

    def __len__(self) -> int:
        return len(self.left)

    def take(self, chosen: Indices) -> "PairIndices":
        """The pairs at these positions (Q,)."""
        return PairIndices(self.left[chosen], self.right[chosen], self.similar[chosen])

    def named(self, count: int) -> npt.NDArray[np.bool_]:
        """Which of so many rows a pair names, (count,)."""
        named = np.zeros(count, bool)
        named[self.left] = named[self.right] = True
        return named

    def with_wrong(self, share: float, rng: np.random.Generator) -> "PairIndices":
        """The same pairs, this share of the similar and of the dissimilar ones called the opposite."""
        similar = self.similar.copy()
        for kind in (np.flatnonzero(self.similar), np.flatnonzero(~self.similar)):
            wrong = rng.choice(kind, round(share * len(kind)), replace=False)
            similar[wrong] = ~similar[wrong]
        return PairIndices(self.left, self.right, similar)

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


class BatchSizes(Protocol):
    """How large batches are: settings of those learners that see batches."""

    @property
    def classes_per_batch(self) -> int: ...

    @property
    def images_per_class(self) -> int: ...

    @property
    def pairs_per_batch(self) -> int: ...


class BatchSampler(Protocol):
    def batch(self, rng: np.random.Generator) -> Batch:
        """Draw one batch."""


def generator(seed: int, phase: str, step: int) -> np.random.Generator:
    """The random numbers of one step of one phase of a run."""
    return np.random.default_rng([seed, *phase.encode(), step])


class ClassBatches:
    """A few classes, a few images of each; the pairs are all pairs within the batch.

    known: labels (n,), of which negative ones are none, or memberships (n, C), where an image may be drawn for any of
    its classes.
    """

    def __init__(self, known: Labels | Membership, classes_per_batch: int, images_per_class: int):
        self._members = _members(known)
        self._known = known
        self._classes = min(classes_per_batch, len(self._members))
        self._images = images_per_class

    def batch(self, rng: np.random.Generator) -> Batch:
        chosen = rng.choice(len(self._members), self._classes, replace=False)
        rows = np.concatenate(
            [rng.choice(m, min(self._images, len(m)), replace=False) for m in (self._members[c] for c in chosen)]
        )
        if isinstance(self._known, Membership):
            rows = np.unique(rows)  # one image may have been drawn for two of its classes
        left, right = np.triu_indices(len(rows), k=1)
        return Batch(rows, PairIndices(left, right, are_similar(self._known, rows[left], rows[right])))


class PairBatches:
    """Given pairs, drawn with replacement, half of them similar where there are both kinds."""

    def __init__(self, pairs: PairIndices, pairs_per_batch: int):
        self._pairs = pairs
        signs = np.flatnonzero(pairs.similar), np.flatnonzero(~pairs.similar)
        self._by_sign = [sign for sign in signs if len(sign)]
        self._half = pairs_per_batch // 2

    def batch(self, rng: np.random.Generator) -> Batch:
        chosen = np.concatenate([rng.choice(sign, self._half) for sign in self._by_sign])
        ends = np.stack([self._pairs.left[chosen], self._pairs.right[chosen]])
        rows, positions = np.unique(ends, return_inverse=True)
        left, right = positions.reshape(ends.shape)
        return Batch(rows, PairIndices(left, right, self._pairs.similar[chosen]))


def batches_of(known: Labels | Membership | PairIndices, sizes: BatchSizes) -> BatchSampler:
    """Batches of images by class, or of pairs where pairs are known."""
    if isinstance(known, PairIndices):
        return PairBatches(known, sizes.pairs_per_batch)
    return ClassBatches(known, sizes.classes_per_batch, sizes.images_per_class)


def are_similar(known: Labels | Membership, left: Indices, right: Indices) -> npt.NDArray[np.bool_]:
    """Whether the images at two lists of positions (P,) have a class in common, (P,)."""
    if isinstance(known, Membership):
        return known.share(left, right)
    same: npt.NDArray[np.bool_] = known[left] == known[right]
    return same


def draw_pairs(known: Labels | Membership, count: int, rng: np.random.Generator) -> PairIndices:
    """`count` pairs by labels, every second one similar; images are drawn evenly. The paper's training pairs.

    Images that share their class with no other take part in dissimilar pairs only. known: labels (n,) or memberships
    (n, C); at least two images must have a class in common, and two must have none.
    Raises: BadDataset if no dissimilar pair of memberships is found.
    """
    if isinstance(known, Membership):
        return _draw_by_membership(known, count, rng)
    return _draw_by_label(known, count, rng)


def _draw_by_label(labels: Labels, count: int, rng: np.random.Generator) -> PairIndices:
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


def _draw_by_membership(known: Membership, count: int, rng: np.random.Generator) -> PairIndices:
    """A similar pair is drawn by one of the left image's classes; a dissimilar one by trying."""
    matrix = known.matrix
    order = [np.flatnonzero(column) for column in matrix.T]
    shared = matrix & (matrix.sum(0) > 1)  # (n, C): classes by which a partner can be found
    similar = np.arange(count) % 2 == 0
    left = np.where(similar, rng.choice(np.flatnonzero(shared.any(1)), count), rng.integers(len(matrix), size=count))
    right = np.empty_like(left)
    for p in np.flatnonzero(similar):
        members = order[rng.choice(np.flatnonzero(shared[left[p]]))]
        place = np.searchsorted(members, left[p])
        right[p] = members[(place + 1 + rng.integers(len(members) - 1)) % len(members)]
    open_ = np.flatnonzero(~similar)
    for _ in range(_TRIES):
        left[open_], right[open_] = rng.integers(len(matrix), size=(2, len(open_)))
        open_ = open_[known.share(left[open_], right[open_]) | (left[open_] == right[open_])]
        if not len(open_):
            return PairIndices(left, right, similar)
    raise BadDataset("Almost all pairs of images share a label: there is nothing to tell apart.")


def _members(known: Labels | Membership) -> Sequence[Indices]:
    if isinstance(known, Membership):
        return [np.flatnonzero(column) for column in known.matrix.T if column.any()]
    labels = known
    return [np.flatnonzero(labels == label) for label in np.unique(labels[labels >= 0])]
