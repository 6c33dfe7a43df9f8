"""Which classes each image has: several, in sets like Pascal VOC."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["SEPARATOR", "Membership", "label_names"]

SEPARATOR = "|"  # between the labels of one image, as in "person|horse"

# Rows of shared-class counts that are held at once: 10 MB for ten thousand images.
_BLOCK_ROWS = 256


def label_names(label: str) -> set[str]:
    """The classes that a label names.

    >>> sorted(label_names("person | horse"))
    ['horse', 'person']
    """
    return set(filter(None, (part.strip() for part in label.split(SEPARATOR))))


@dataclass(frozen=True)
class Membership:
    """Image i has class c where matrix[i, c]. Two images are similar where they share a class."""

    matrix: npt.NDArray[np.bool_]  # (n, C)

    @classmethod
    def of(cls, labels: Sequence[str]) -> "Membership":
        """From labels such as "person|horse"; classes in alphabetical order.

        >>> Membership.of(["cat", "cat|dog", "dog"]).matrix.astype(int).tolist()
        [[1, 0], [1, 1], [0, 1]]
        """
        sets = [label_names(label) for label in labels]
        names = sorted(set().union(*sets))
        return cls(np.array([[name in own for name in names] for own in sets], bool).reshape(len(sets), len(names)))

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def single(self) -> npt.NDArray[np.bool_]:
        """Which images have exactly one class, (n,)."""
        return np.asarray(self.matrix.sum(1) == 1)

    @property
    def has_both_kinds(self) -> bool:
        """Whether two images share a class and two share none. Memory is O(block x n)."""
        counts = self.matrix.astype(np.float32)
        blocks = range(0, len(counts), _BLOCK_ROWS)
        apart = any(((counts[i : i + _BLOCK_ROWS] @ counts.T) == 0).any() for i in blocks)
        return bool((self.matrix.sum(0) > 1).any()) and apart

    def within(self, chosen: npt.NDArray[np.bool_]) -> "Membership":
        """Those of the chosen images. chosen: mask (n,)."""
        return Membership(self.matrix[chosen])

    def share(self, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether the images at two lists of positions (P,) have a class in common, (P,)."""
        return np.asarray((self.matrix[left] & self.matrix[right]).any(-1))
