"""How a step relates to its run: the rate that falls towards the end, and what the log says of a batch."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

__all__ = ["cosine", "means", "violation_rates"]


def cosine(progress: float) -> float:
    """From 1 at the start to 0 at the end of the run. progress: 0 to 1."""
    return (1 + float(np.cos(np.pi * progress))) / 2


def violation_rates(violating: torch.Tensor, similar: torch.Tensor) -> dict[str, float]:
    """Shares of the similar and of the dissimilar pairs (P,) that violate the margin, 0 where there are none."""
    signs = {"similar_violations": similar, "dissimilar_violations": ~similar}
    return {name: int((violating & sign).sum()) / max(1, int(sign.sum())) for name, sign in signs.items()}


def means(reports: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of several steps' reports, which have the same names.

    >>> means([{"loss": 1.0}, {"loss": 3.0}])
    {'loss': 2.0}
    """
    return {name: float(np.mean([report[name] for report in reports])) for name in reports[0]}
