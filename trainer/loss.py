"""The pair hinge: similar pairs closer than b - m, dissimilar ones farther than b + m."""

import torch

__all__ = ["balanced_mean", "pair_hinge"]


def pair_hinge(squared_distances: torch.Tensor, similar: torch.Tensor, b: float, m: float) -> torch.Tensor:
    """max(0, m - y (b - d2)) for each pair, y = +1 for similar and -1 for dissimilar ones.

    squared_distances: (P,); similar: (P,) bool; returns (P,).
    Source: Sharma and Schiele, ICCV 2015, the objective. Its sum equals pytorch-metric-learning's ContrastiveLoss with
    pos_margin = b - m and neg_margin = b + m on squared L2 distances.
    """
    y = torch.where(similar, 1.0, -1.0).to(squared_distances.dtype)
    return torch.relu(m - y * (b - squared_distances))


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
