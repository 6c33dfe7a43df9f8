"""Whether calibrated probabilities are frequencies: of the pairs that a model calls 70% alike, 70% should be."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Bin", "Reliability", "reliability"]

_BINS = 15  # as most of the literature has since Guo et al., 2017
_PAIRS_PER_BIN = 10  # of each kind on average; with fewer a bin's frequency is mostly chance, and looks like an error
_LEAST_BINS = 2

_Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """Pairs whose probabilities lie next to each other."""

    said: float  # their mean probability
    found: float  # the share of similar ones among them
    weight: float  # of these pairs; those of all bins add up to 1
    pairs: int


@dataclass(frozen=True)
class Reliability:
    """The table behind a reliability diagram."""

    bins: list[Bin]  # from low probabilities to high

    @property
    def error(self) -> float:
        """Expected calibration error, sum_i w_i |said_i - found_i|: from 0 to 1, always sure and always wrong."""
        return sum(part.weight * abs(part.said - part.found) for part in self.bins)


def reliability(said: npt.NDArray[np.floating], similar: npt.NDArray[np.bool_]) -> Reliability | None:
    """Bins of equal weight over the probabilities `said` (P,) of pairs that are `similar` or not (P,).

    Similar and dissimilar pairs weigh the same, as they do when a calibration is fitted: its prior is one half. Bins
    of equal weight and not of equal width, so that none is nearly empty: most probabilities are near 0 or 1. Equal
    probabilities fall into one bin. There are 15, or fewer where a kind has less than ten pairs for each.
    None where a kind of pair is missing.
    Source: Nixon et al., CVPR workshops 2019 (adaptive calibration error), of the class "similar" only.

    >>> error = lambda said: reliability(np.array(said), np.array([False, True])).error
    >>> error([0.0, 1.0]), error([0.5, 0.5]), error([1.0, 0.0])
    (0.0, 0.0, 1.0)
    """
    kinds = (int((~similar).sum()), int(similar.sum()))
    if not all(kinds):
        return None
    weights = np.where(similar, 0.5 / kinds[1], 0.5 / kinds[0])
    count = max(_LEAST_BINS, min(_BINS, min(kinds) // _PAIRS_PER_BIN))
    order = np.argsort(said, kind="stable")
    below = np.cumsum(weights[order]) - weights[order] / 2  # weight up to the middle of each pair, 0 to 1
    edges = said[order][np.searchsorted(below, np.arange(1, count) / count)]
    place = np.searchsorted(np.unique(edges), said, side="right")
    return Reliability([_bin(said[own], similar[own], weights[own]) for own in _members(place)])


def _members(place: npt.NDArray[np.intp]) -> list[npt.NDArray[np.bool_]]:
    return [place == bin_ for bin_ in np.unique(place)]


def _bin(said: npt.NDArray[np.floating], similar: npt.NDArray[np.bool_], weights: _Values) -> Bin:
    total = weights.sum()
    return Bin(float(weights @ said / total), float(weights @ similar / total), float(total), len(said))
