"""Losses on pairs and on batches: the paper's hinge, generalised cross entropy, and the supervised contrastive loss."""

import torch
from torch.nn.functional import logsigmoid

__all__ = ["balanced_mean", "pair_cross_entropy", "pair_hinge", "supervised_contrastive"]


def pair_hinge(squared_distances: torch.Tensor, similar: torch.Tensor, b: float, m: float) -> torch.Tensor:
    """max(0, m - y (b - d2)) for each pair, y = +1 for similar and -1 for dissimilar ones.

    squared_distances: (P,); similar: (P,) bool; returns (P,).
    Source: Sharma and Schiele, ICCV 2015, the objective. Its sum equals pytorch-metric-learning's ContrastiveLoss with
    pos_margin = b - m and neg_margin = b + m on squared L2 distances.
    """
    return torch.relu(m - _agreement(squared_distances, similar, b))


def balanced_mean(losses: torch.Tensor, similar: torch.Tensor) -> torch.Tensor:
    """The mean over violating similar pairs plus the mean over violating dissimilar ones.

    Within a batch of labelled images dissimilar pairs outnumber similar ones by the number of classes, and most pairs
    soon violate nothing; means over the violating ones keep both forces and the step size alive.
    """
    total = losses.new_zeros(())
    for sign in (similar, ~similar):
        violating = (losses > 0) & sign
        total = total + (losses * violating).sum() / violating.sum().clamp(min=1)
    return total


def pair_cross_entropy(
    squared_distances: torch.Tensor, similar: torch.Tensor, b: float, slope: float, q: float
) -> torch.Tensor:
    """Mean over pairs of (1 - p^q) / q with p = 1 / (1 + exp(-y slope (b - d2))), the probability of what the pair is
    said to be; y = +1 for similar and -1 for dissimilar ones.

    q in (0, 1]: near 0 it is the logistic loss -log p, whose force on a pair grows the more the pair contradicts the
    embedding; with 1 that force ends in 0, so that pairs that are plainly wrong are given up.
    squared_distances: (P,); similar: (P,) bool; returns a scalar.
    Source: Zhang and Sabuncu, NeurIPS 2018, equation 6 (generalised cross entropy).
    """
    log_p = logsigmoid(slope * _agreement(squared_distances, similar, b))
    return -torch.expm1(q * log_p).mean() / q  # p itself would be 0 far beyond the threshold, with no derivative


def _agreement(squared_distances: torch.Tensor, similar: torch.Tensor, b: float) -> torch.Tensor:
    """y (b - d2), (P,): how far a pair's distance lies on its own side of the threshold."""
    y = torch.where(similar, 1.0, -1.0).to(squared_distances.dtype)
    return y * (b - squared_distances)


def supervised_contrastive(similarities: torch.Tensor, same: torch.Tensor, temperature: float) -> torch.Tensor:
    """-log of the share that each similar image has among all others, softmax of similarity / temperature: averaged
    over an image's similar ones, then over the images that have any.

    similarities: (r, r), cosines of unit vectors; same: (r, r) bool, symmetric, its diagonal is ignored.
    Source: Khosla et al., NeurIPS 2020, equation 2 (the sum outside the logarithm).
    """
    itself = torch.eye(len(similarities), dtype=torch.bool, device=similarities.device)
    logits = (similarities / temperature).masked_fill(itself, -torch.inf)
    shares = logits - torch.logsumexp(logits, dim=1, keepdim=True)
    similar = same & ~itself
    count = similar.sum(1)
    losses = -torch.where(similar, shares, 0).sum(1) / count.clamp(min=1)
    return losses.sum() / (count > 0).sum().clamp(min=1)
