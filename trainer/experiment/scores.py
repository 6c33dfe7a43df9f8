"""The results by method, d and K: means over seeds with their spread, and never a NaN."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trainer.experiment.names import is_other, is_raw, ordered
from trainer.experiment.results import Result

__all__ = ["Costs", "Scores", "Spread", "nearest", "spread"]

_USUAL_K = 10  # the paper's
_USUAL_D = 16


@dataclass(frozen=True)
class Spread:
    """A mean over seeds, and the sample standard deviation where there is more than one seed."""

    mean: float
    deviation: float | None


def spread(values: Iterable[float]) -> Spread | None:
    """None if there is no finite value.

    >>> spread([1.0, 3.0]), spread([float("nan")])
    (Spread(mean=2.0, deviation=1.4142135623730951), None)
    """
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return None
    return Spread(statistics.fmean(finite), statistics.stdev(finite) if len(finite) > 1 else None)


def nearest(values: Sequence[int], wanted: int) -> int:
    """The value closest to the wanted one, the smaller of two.

    >>> nearest([8, 24, 64], 16)
    8
    """
    return min(values, key=lambda value: (abs(value - wanted), value))


@dataclass(frozen=True)
class Costs:
    """Means over seeds; None where nothing finite was measured."""

    fit_s: float | None
    transform_ms_per_image: float | None
    parameters: float | None
    bytes_per_image: float | None


class Scores:
    """Looks up what was measured. Raw features have no d of their own: they answer for every d."""

    def __init__(self, results: Sequence[Result]) -> None:
        self._mprec: dict[tuple[str, int, int], dict[int, float]] = {}
        self._rows: dict[tuple[str, int], list[Result]] = {}
        for row in results:
            d = 0 if is_raw(row.method) else row.d
            self._rows.setdefault((row.method, d), []).append(row)
            if math.isfinite(row.mprec):
                self._mprec.setdefault((row.method, d, row.K), {})[row.seed] = row.mprec
        self.methods = ordered(row.method for row in results)
        self.dimensions = sorted({row.d for row in results if not is_raw(row.method)})
        self.ks = sorted({K for _, _, K in self._mprec})
        self.seeds = sorted({row.seed for row in results})

    @property
    def main_k(self) -> int:
        """10 as in the paper, or the nearest K that was measured."""
        return nearest(self.ks, _USUAL_K) if self.ks else _USUAL_K

    @property
    def main_d(self) -> int:
        """16, or the nearest d that was measured."""
        return nearest(self.dimensions, _USUAL_D) if self.dimensions else 0

    def by_seed(self, method: str, d: int, K: int) -> dict[int, float]:
        """Seed -> mprec@K in percent, of the seeds that gave a number."""
        return self._mprec.get((method, 0 if is_raw(method) else d, K), {})

    def mprec(self, method: str, d: int, K: int) -> Spread | None:
        """mprec@K in percent over the seeds; None if it was not measured."""
        return spread(self.by_seed(method, d, K).values())

    def difference(self, method: str, other: str, d: int, K: int) -> Spread | None:
        """Of mprec@K in percent points, seed by seed; None without a seed that both have."""
        ours, theirs = self.by_seed(method, d, K), self.by_seed(other, d, K)
        return spread(ours[seed] - theirs[seed] for seed in ours if seed in theirs)

    def best_other(self, d: int) -> str | None:
        """The method with the best mean mprec at this d that is learned and none of NML's kinds."""
        means = {
            name: found.mean for name in self.methods if is_other(name) and (found := self.mprec(name, d, self.main_k))
        }
        return max(means, key=lambda name: means[name], default=None)

    def costs(self, method: str, d: int) -> Costs | None:
        """Of one fit; None where nothing was fitted."""
        rows = self._rows.get((method, 0 if is_raw(method) else d))
        if not rows:
            return None
        rows = list({row.seed: row for row in rows}.values())  # every K repeats them
        return Costs(
            _mean(row.fit_s for row in rows),
            _mean(row.transform_ms_per_image for row in rows),
            _mean(row.parameters for row in rows),
            _mean(row.bytes_per_image for row in rows),
        )


def _mean(values: Iterable[float]) -> float | None:
    found = spread(values)
    return found.mean if found else None
