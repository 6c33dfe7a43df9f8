"""LMNN: each image's nearest of its own class closer than all of other classes, by a margin of one.

Minimises, over L itself,

    (1 - mu) sum_{i, j} d2(i, j) + mu sum_{i, j, l} [1 + d2(i, j) - d2(i, l)]_+

with j over the k target neighbours of i and l over all images of other classes. Source: Weinberger and Saul, JMLR 2009,
equations 11 to 13, and section 6.1 on a rectangular L.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from trainer.errors import BadConfig, BadDataset
from trainer.methods.fitted import MetricFitted
from trainer.methods.method import TrainingSet
from trainer.methods.pair_graph import ClassBlock, PairGraph, class_blocks
from trainer.pca import after, fit_pca
from trainer.sampling import Labels
from trainer.threads import one_thread

__all__ = ["Lmnn", "TargetNeighbours", "lmnn_loss", "target_neighbours"]

_LBFGS_MEMORY = 10

_Objective = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


@dataclass(frozen=True)
class Lmnn:
    """A metric within the first d principal components, d x d (`reduce_to` None: LMNN(s)), or a rectangular one of
    d x reduce_to (LMNN(r); fewer columns where n or D are less). L starts at `start_scale` times PCA's directions.

    Raises: BadConfig for k, iterations, reduce_to or start_scale that are not positive, or mu outside (0, 1).
    """

    reduce_to: int | None = None
    k: int = 10
    mu: float = 0.1
    iterations: int = 15
    start_scale: float = 3.0

    def __post_init__(self) -> None:
        counts = (self.k, self.iterations, 1 if self.reduce_to is None else self.reduce_to)
        if min(counts) < 1 or not 0 < self.mu < 1 or not self.start_scale > 0:
            raise BadConfig(
                f"LMNN needs k, iterations and reduce_to of 1 or more, 0 < mu < 1 and start_scale > 0, got {self}."
            )

    def fit(self, data: TrainingSet, d: int, seed: int) -> MetricFitted:  # noqa: ARG002 - nothing is drawn
        features, labels = data.single_labelled()
        reduced = d if self.reduce_to is None else max(d, min(self.reduce_to, *features.shape))
        pca = fit_pca(features, reduced)
        order = np.argsort(labels, kind="stable")
        inputs = torch.from_numpy(pca.embed(features[order]))
        targets, blocks = target_neighbours(inputs, labels[order], self.k), class_blocks(labels[order])
        start = self.start_scale * torch.eye(d, reduced)
        L = _minimised(lambda L: lmnn_loss(L, inputs, targets, blocks, self.mu), start, self.iterations)
        return MetricFitted(after(pca, L))


@dataclass(frozen=True)
class TargetNeighbours:
    """The images that each image is to be near. Images of small classes have fewer than k: the rest is not `valid`."""

    positions: torch.Tensor  # (n, k) int64, the image itself where not valid
    valid: torch.Tensor  # (n, k) bool


def target_neighbours(inputs: torch.Tensor, labels: Labels, k: int) -> TargetNeighbours:
    """Each image's k nearest others of its class by Euclidean distance. inputs: (n, p), labels: (n,), sorted.

    Raises: BadDataset if no class has two images.
    """
    n = len(labels)
    positions, valid = torch.arange(n)[:, None].repeat(1, k), torch.zeros(n, k, dtype=torch.bool)
    _, first, sizes = np.unique(labels, return_index=True, return_counts=True)
    if sizes.max() < 2:
        raise BadDataset("LMNN needs a class of at least two images: label more images.")
    for start, size in zip(first.tolist(), sizes.tolist(), strict=True):
        own, found = slice(start, start + size), min(k, size - 1)
        distances = torch.cdist(inputs[own], inputs[own], compute_mode="donot_use_mm_for_euclid_dist")
        distances.fill_diagonal_(torch.inf)
        positions[own, :found] = start + distances.argsort(dim=1, stable=True)[:, :found]
        valid[own, :found] = True
    return TargetNeighbours(positions, valid)


def lmnn_loss(
    L: torch.Tensor, inputs: torch.Tensor, targets: TargetNeighbours, blocks: list[ClassBlock], mu: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The objective above and its gradient by L. L: (d, p), inputs: (n, p), sorted by class. Memory O(block x n).

    Both are sums over pairs: d2(i, j) counts 1 - mu, and mu more for each image l that violates its margin; d2(i, l)
    counts -mu for each target j that it violates.
    """
    embeddings = inputs @ L.T
    graph = PairGraph(embeddings)
    pull = (embeddings[:, None] - embeddings[targets.positions]).square().sum(2)  # (n, k)
    margins = torch.where(targets.valid, 1 + pull, -torch.inf)
    loss = (1 - mu) * pull.sum(dtype=torch.float64)
    for block in blocks:
        squared_distances = graph.squared_distances(block)
        for part in block.own_class:
            squared_distances[part] = torch.inf
        hinges, violations, violated = _hinges(squared_distances, margins[block.rows])
        loss += mu * hinges
        weights = violations.mul_(-mu)
        weights.scatter_add_(1, targets.positions[block.rows], (1 - mu) + mu * violated)
        graph.add(block, weights)
    return loss, graph.gradient().T @ inputs


def _hinges(squared_distances: torch.Tensor, margins: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sum of [margin - d2]_+; how many margins of i image l violates, (b, n); by how many each is violated, (b, k).

    squared_distances: (b, n), infinite where l is no impostor; margins: (b, k), -infinite where there is none. Only the
    pairs within i's widest margin are looked at more closely, a hundredth of all after a few steps.
    """
    b, n = squared_distances.shape
    near = (squared_distances < margins.amax(1, keepdim=True)).flatten().nonzero().squeeze(1)  # places in (b n,)
    rows = near.div(n, rounding_mode="floor")
    hinges = (margins[rows] - squared_distances.flatten()[near, None]).clamp_(min=0)  # (pairs, k)
    total = hinges.sum(dtype=torch.float64)
    violating = hinges.sign_()
    violations = squared_distances.new_zeros(b * n).index_copy_(0, near, violating.sum(1)).view(b, n)
    return total, violations, torch.zeros_like(margins).index_add_(0, rows, violating)


def _minimised(objective: _Objective, start: torch.Tensor, iterations: int) -> npt.NDArray[np.float64]:
    """L (d, p) after up to so many steps of L-BFGS over all images. Draws nothing.

    objective: L in the type of `start` -> value and gradient (d, p). L itself is float64: small steps are not lost.
    """
    L = start.double().requires_grad_()
    optimiser = torch.optim.LBFGS([L], max_iter=iterations, history_size=_LBFGS_MEMORY, line_search_fn="strong_wolfe")

    def evaluate() -> float:
        value, gradient = objective(L.detach().to(start.dtype))
        L.grad = gradient.double()
        return float(value)

    with one_thread():  # two threads that wait for a busy processor cost ten times the time of one
        optimiser.step(evaluate)  # type: ignore[no-untyped-call]
    return L.detach().numpy()
