"""What a squared distance is made of."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.records import FeatureMatrix
from embedding.explain import channel_shares
from embedding.metric import Metric

__all__ = ["STRONGEST", "Explanation", "by_channel", "by_dimension"]

STRONGEST = 10  # channels that are told


@dataclass(frozen=True)
class Explanation:
    dimensions: list[float]  # (x_t - y_t)^2; they sum to the squared distance
    channels: list[tuple[int, float]] | None  # number and share of the strongest; None if the query has no features


def by_dimension(left: npt.NDArray[np.float32], right: npt.NDArray[np.float32]) -> list[float]:
    """(x_t - y_t)^2 of two embeddings (d,), in float64."""
    dimensions: list[float] = np.square(left.astype(np.float64) - right).tolist()
    return dimensions


def by_channel(metric: Metric, left: FeatureMatrix, right: FeatureMatrix) -> list[tuple[int, float]]:
    """The channels that account for most of the squared distance of two (D,), for it or against it.

    Raises: BadFeatures.
    """
    shares = channel_shares(metric, left, right)
    strongest = np.argsort(-np.abs(shares), kind="stable")[:STRONGEST]
    return [(int(channel), float(shares[channel])) for channel in strongest]
