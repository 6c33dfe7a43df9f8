"""Whether a new model is better than the active one, or worse, beyond what chance does to held-out images and pairs."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from embedding.metric import Metric
from embedding.model_file import Model
from trainer.sampling import generator
from trainer.update.held_out import HeldOut
from trainer.update.outside import Queries, distances_of, queries_of
from trainer.update.resampling import auc, auc_difference, mean_difference

__all__ = ["Comparison", "Measure", "Verdict", "compare", "figures"]

Verdict = Literal["better", "even", "worse"]

_LEAST_PAIRS = 10  # of each kind; with fewer an AUC is chance

NO_FORMER = "There was no active model."
NOT_MEASURED = "Too few held-out pairs and labelled images to compare the models."


@dataclass(frozen=True)
class Measure:
    """One number of both models, and the 95% interval of its difference."""

    name: Literal["mprec_at_10", "pair_auc"]
    before: float
    after: float
    difference: float
    low: float
    high: float
    count: int  # queries or pairs


@dataclass(frozen=True)
class Category:
    """Precision of one category's queries."""

    category: str
    before: float
    after: float
    count: int


@dataclass(frozen=True)
class Comparison:
    """What goes into the manifest of the new model."""

    former: str | None  # version of the active model
    verdict: Verdict
    measures: list[Measure]
    categories: list[Category]
    note: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "with": self.former,
            "verdict": self.verdict,
            "measures": [asdict(each) for each in self.measures],
            "categories": [asdict(each) for each in self.categories],
            "note": self.note,
        }


def compare(held: HeldOut, active: Model | None, candidate: Metric, seed: int) -> Comparison:
    """Worse: some measure is, with all of its interval. Better: none is worse, and some is better with all of it."""
    if active is None:
        return Comparison(None, "better", [], [], NO_FORMER)
    measures, categories = [], []
    if (queries := queries_of(held.labelled)) is not None:
        before, after = queries.precisions(active.metric), queries.precisions(candidate)
        measures.append(_of_queries(queries, before, after, generator(seed, "queries", 0)))
        categories = _by_category(queries, before, after)
    if _enough(held.judged.pairs.similar):
        measures.append(_of_pairs(held, active.metric, candidate, generator(seed, "pairs", 0)))
    return Comparison(active.version, _verdict(measures), measures, categories, None if measures else NOT_MEASURED)


def figures(held: HeldOut, metric: Metric) -> dict[str, Any]:
    """What one model is worth on what is held out, as far as there is enough of it."""
    found: dict[str, Any] = {}
    if (queries := queries_of(held.labelled)) is not None:
        found |= {"mprec_at_10": float(queries.weights @ queries.precisions(metric)), "queries": len(queries.asked)}
    similar = held.judged.pairs.similar
    if _enough(similar):
        found |= {"pair_auc": auc(distances_of(metric, held.judged), similar), "held_out_pairs": len(similar)}
    return found


def _verdict(measures: list[Measure]) -> Verdict:
    if any(measure.high < 0 for measure in measures):
        return "worse"
    return "better" if any(measure.low > 0 for measure in measures) else "even"


def _enough(similar: npt.NDArray[np.bool_]) -> bool:
    return bool(min(similar.sum(), (~similar).sum()) >= _LEAST_PAIRS)


def _of_queries(
    queries: Queries, before: npt.NDArray[np.float64], after: npt.NDArray[np.float64], rng: np.random.Generator
) -> Measure:
    low, high = mean_difference(after - before, queries.weights, rng)
    was, is_ = float(queries.weights @ before), float(queries.weights @ after)
    return Measure("mprec_at_10", was, is_, is_ - was, low, high, len(queries.asked))


def _by_category(queries: Queries, before: npt.NDArray[np.float64], after: npt.NDArray[np.float64]) -> list[Category]:
    labels = queries.labels[queries.asked]
    return [
        Category(queries.names[label], float(before[own].mean()), float(after[own].mean()), int(own.sum()))
        for label in np.unique(labels)
        for own in [labels == label]
    ]


def _of_pairs(held: HeldOut, active: Metric, candidate: Metric, rng: np.random.Generator) -> Measure:
    similar = held.judged.pairs.similar
    before, after = distances_of(active, held.judged), distances_of(candidate, held.judged)
    low, high = auc_difference(before, after, similar, rng)
    was, is_ = auc(before, similar), auc(after, similar)
    return Measure("pair_auc", was, is_, is_ - was, low, high, len(similar))
