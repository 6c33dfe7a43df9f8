"""Learning sets made in code."""

import hashlib
from collections.abc import Sequence

import numpy as np

from embedding.metric import FloatMatrix
from tests.trainer.loud_and_quiet import loud_and_quiet
from trainer.learning_set import LearningSet
from trainer.sampling import Labels, PairIndices, draw_pairs

__all__ = ["as_pairs", "digest", "loud_set", "set_of"]


def digest(number: int) -> bytes:
    """Of a picture that is not there."""
    return hashlib.sha256(str(number).encode()).digest()


def set_of(
    features: FloatMatrix, labels: Sequence[str | None], pairs: Sequence[tuple[int, int, bool]] = ()
) -> LearningSet:
    """Image i has digest(i); rows come in the order of digests."""
    ends = np.array([pair[:2] for pair in pairs], np.int64).reshape(-1, 2)
    similar = np.array([pair[2] for pair in pairs], bool)
    digests = [digest(number) for number in range(len(features))]
    return LearningSet.of(digests, features.astype(np.float16), labels, PairIndices(ends[:, 0], ends[:, 1], similar))


def loud_set(seed: int = 0, n: int = 240, labelled: int | None = None) -> LearningSet:
    """Of three classes, the first so many images with a label."""
    histograms, labels = loud_and_quiet(seed, n)
    known = n if labelled is None else labelled
    return set_of(100 * histograms, [f"kind {label}" if i < known else None for i, label in enumerate(labels)])


def as_pairs(data: LearningSet, count: int, wrong: float = 0.0) -> LearningSet:
    """The same images without labels, so many pairs judged by those."""
    rng = np.random.default_rng(0)
    numbers: Labels = data.numbers
    pairs = draw_pairs(numbers, count, rng).with_wrong(wrong, rng)
    return LearningSet.of(data.digests, data.features, [None] * len(data), pairs)
