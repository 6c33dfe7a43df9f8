"""Which images are held out to measure on: by a hash of their content, the same in every command and on every machine.

Each fold leaves out another part; what is known of its images is not learned from, and nothing else is measured on. An
image that nobody said anything about is in no fold: it has nothing to be measured by.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from trainer.learning_set import LearningSet, Mask

__all__ = ["RULE", "folds"]

RULE = "sha256-folds-1"  # in manifests; another way of choosing gets another name

_PARTS = 3  # an image is left out once
_MANY = 1500  # images that are known something of: from here on one part of five tells as much
_PARTS_OF_MANY = 5
_LARGEST_GROUP = 0.1  # of all judged images; a larger group of connected ones is cut apart


def folds(data: LearningSet) -> list[Mask]:
    """Masks (n,) of the images that are out, disjoint; none where there is too little to leave something out."""
    units, strata = _units(data)
    known = units >= 0
    if known.sum() < 2 * _PARTS:
        return []
    parts, count = (_PARTS_OF_MANY, 1) if known.sum() >= _MANY else (_PARTS, _PARTS)
    part = _part_of_units(data.digests, units, strata, parts)
    return [known & (part == number) for number in range(count)]


def _units(data: LearningSet) -> tuple[np.ndarray, list[str]]:
    """What is left out as a whole: (n,), -1 for images that nothing is known of. And the label of each, or "".

    A labelled image is a unit. Images without label that verdicts connect are one together, unless they are many: else
    most verdicts would have one end on either side, and could be neither learned from nor measured on.
    """
    n, pairs = len(data), data.pairs
    has_label, named = data.has_label, pairs.named(n)
    free = ~has_label[pairs.left] & ~has_label[pairs.right]
    edges = coo_array((np.ones(int(free.sum())), (pairs.left[free], pairs.right[free])), shape=(n, n))
    _, group = connected_components(edges, directed=False)
    sizes = np.bincount(group, minlength=n)
    judged = named & ~has_label
    too_large = sizes[group] > max(_LARGEST_GROUP * judged.sum(), 2)
    units = np.where(judged & ~too_large, n + group, np.arange(n))
    return np.where(has_label | named, units, -1), [label or "" for label in data.labels]


def _part_of_units(digests: Sequence[bytes], units: np.ndarray, strata: Sequence[str], parts: int) -> np.ndarray:
    """The part of each image's unit, (n,): in the order of a hash, in turn within each stratum."""
    first = {int(unit): row for row, unit in reversed(list(enumerate(units.tolist()))) if unit >= 0}
    order = sorted((strata[row], hashlib.sha256(b"fold" + digests[row]).digest(), unit) for unit, row in first.items())
    # Each stratum begins at a part of its own, or the first one would be larger than the others.
    part_of, stratum, at = {}, None, 0
    for label, _, unit in order:
        if label != stratum:
            stratum, at = label, int.from_bytes(hashlib.sha256(label.encode("utf-8", "surrogatepass")).digest()[:4])
        part_of[unit] = at % parts
        at += 1
    return np.array([part_of.get(int(unit), -1) for unit in units], np.int64)
