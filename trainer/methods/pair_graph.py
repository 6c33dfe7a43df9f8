"""Gradients of losses over all pairs of images, block by block: what LMNN descends on."""

from dataclasses import dataclass

import numpy as np
import torch

from trainer.sampling import Labels

__all__ = ["ClassBlock", "PairGraph", "class_blocks"]

# Rows of an n x n matrix that are held at once: small enough for the processor's cache at n = 3000.
_BLOCK_ROWS = 128


@dataclass(frozen=True)
class ClassBlock:
    """Some rows of an n x n matrix of images in the order of their classes."""

    rows: slice
    own_class: tuple[tuple[slice, slice], ...]  # for each class in the block: its rows there, its columns

    def __len__(self) -> int:
        return int(self.rows.stop - self.rows.start)


def class_blocks(labels: Labels, block_rows: int = _BLOCK_ROWS) -> list[ClassBlock]:
    """Blocks of consecutive rows. labels: (n,), sorted.

    >>> [block.rows for block in class_blocks(np.array([0, 0, 1]), block_rows=2)]
    [slice(0, 2, None), slice(2, 3, None)]
    """
    _, first = np.unique(labels, return_index=True)
    bounds = [*first.tolist(), len(labels)]
    starts = range(0, len(labels), block_rows)
    return [_class_block(start, min(len(labels), start + block_rows), bounds) for start in starts]


def _class_block(start: int, stop: int, bounds: list[int]) -> ClassBlock:
    """bounds: where each class begins among the n images, and n."""
    first, last = np.searchsorted(bounds, start, "right") - 1, np.searchsorted(bounds, stop, "left")
    classes = zip(bounds[first:last], bounds[first + 1 : last + 1], strict=True)
    own = [(slice(max(a, start) - start, min(b, stop) - start), slice(a, b)) for a, b in classes]
    return ClassBlock(slice(start, stop), tuple(own))


class PairGraph:
    """The gradient of sum_ij w_ij d2(i, j) by the embeddings (n, d), with w (n, n) given in blocks of rows.

    It is 2 (diag(w 1 + w^T 1) - w - w^T) z: memory is O(block x n) and no triplet is ever listed.
    """

    def __init__(self, embeddings: torch.Tensor):
        self._embeddings = embeddings
        self._norms = embeddings.square().sum(1)
        # A column of ones makes the sums of w's rows and columns come out of the same two products.
        self._extended = torch.cat([embeddings, embeddings.new_ones(len(embeddings), 1)], 1)
        self._products = torch.zeros_like(self._extended)

    def squared_distances(self, block: ClassBlock) -> torch.Tensor:
        """(b, n), from products: exact enough for hinges and chances of centred inputs, and may be slightly below 0."""
        products = torch.addmm(self._norms, self._embeddings[block.rows], self._embeddings.T, alpha=-2)
        return products.add_(self._norms[block.rows, None])

    def add(self, block: ClassBlock, weights: torch.Tensor) -> None:
        """weights: (b, n)."""
        self._products[block.rows] += weights @ self._extended
        self._products += weights.T @ self._extended[block.rows]

    def gradient(self) -> torch.Tensor:
        """(n, d)."""
        return 2 * (self._products[:, -1:] * self._embeddings - self._products[:, :-1])
