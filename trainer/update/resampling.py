"""Intervals of differences by the paired bootstrap: both models are measured on the same resampled queries or pairs.

Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, percentile intervals.
"""

import numpy as np
import numpy.typing as npt

__all__ = ["Interval", "auc", "auc_difference", "mean_difference"]

RESAMPLES = 1000
_PERCENTILES = (2.5, 97.5)

Interval = tuple[float, float]
Values = npt.NDArray[np.float64]
Distances = npt.NDArray[np.float32]
Truths = npt.NDArray[np.bool_]


def mean_difference(
    difference: Values,
    weights: Values,
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    percentiles: tuple[float, float] = _PERCENTILES,
) -> Interval:
    """Of the weighted mean of differences (Q,), resampled by query."""
    counts = _counts(len(difference), rng, resamples)  # (R, Q)
    return _interval((counts @ (weights * difference)) / (counts @ weights), percentiles)


def auc(distances: Distances, similar: Truths) -> float:
    """The chance that a similar pair is closer than a dissimilar one, ties counting half."""
    return float(_closer(distances, similar).mean())


def auc_difference(before: Distances, after: Distances, similar: Truths, rng: np.random.Generator) -> Interval:
    """Of the difference of two AUCs on the same pairs (P,), similar and dissimilar ones resampled by themselves."""
    gain = _closer(after, similar) - _closer(before, similar)  # (P+, P-)
    of_similar, of_dissimilar = (_counts(size, rng) for size in gain.shape)
    return _interval(((of_similar @ gain) * of_dissimilar).sum(1) / gain.size)


def _closer(distances: Distances, similar: Truths) -> Values:
    """1 where a similar pair (row) is closer than a dissimilar one (column), 1/2 where they are even: (P+, P-)."""
    near, far = distances[similar, None], distances[None, ~similar]
    return np.asarray((near < far) + 0.5 * (near == far))


def _counts(size: int, rng: np.random.Generator, resamples: int = RESAMPLES) -> Values:
    """How often each of `size` things is drawn in each resample, (R, size)."""
    return rng.multinomial(size, np.full(size, 1 / size), resamples).astype(np.float64)


def _interval(values: Values, percentiles: tuple[float, float] = _PERCENTILES) -> Interval:
    low, high = np.percentile(values, percentiles)
    return float(low), float(high)
