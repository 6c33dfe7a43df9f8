"""Whether a new model may take the active one's place: is it better, or worse, beyond what chance does?

Nothing is measured on what it learned from. Both models learned from everything when they were made, so that nobody
pays for measuring; what is compared are their twins, learned by the same settings from the same data without a fold,
and measured on that fold. The active one's data are known from its file (`embedding.provenance`). One that has learned
nothing from people, such as principal components, has no need of twins.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from embedding.metric import Metric
from embedding.model_file import Model
from trainer.choice import shortened
from trainer.config import TrainConfig
from trainer.errors import BadConfig, BadDataset
from trainer.folds import RULE
from trainer.learner import Learned, fit_member
from trainer.learning_set import LearningSet
from trainer.scores import Difference, FoldScores, difference, score

__all__ = ["Comparison", "Former", "Measure", "Verdict", "compare", "is_taken"]

Verdict = Literal["better", "even", "worse", "not comparable"]
Name = Literal["mprec_at_10", "pair_auc"]

_MEASURES: tuple[Name, ...] = ("mprec_at_10", "pair_auc")
_LEAST: dict[Name, int] = {"mprec_at_10": 10, "pair_auc": 20}  # queries, pairs: with fewer all is chance

# Worse is what lies so many standard errors below the active one. More data teach more, as a rule, so that the doubt is
# in the new model's favour. Chosen by `benchmarks.gate` on collections of many sizes and kinds.
_STANDARD_ERRORS = 1.3

NO_FORMER = "There was no active model."
UNTRAINED = "The active model had learned nothing yet."
NOT_MEASURED = "Too little is known of the images to leave something out and to measure on it."
UNKNOWN_FORMER = (
    "What the active model was learned by is unknown, so it cannot be learned again without what is held out."
)


@dataclass(frozen=True)
class Former:
    """The active model, with what it knew."""

    model: Model
    data: LearningSet | None  # of this collection's images, as far as is known; None: it learned from nobody
    grown: bool  # whether everything that it knew is still known


@dataclass(frozen=True)
class Measure:
    """One number of both models, and the 95% interval of its difference."""

    name: Name
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
    twins: tuple[Metric, Metric] | None = None  # of the first fold: the active model's, the new one's

    def to_json(self) -> dict[str, Any]:
        return {
            "with": self.former,
            "verdict": self.verdict,
            "measures": [asdict(each) for each in self.measures],
            "categories": [asdict(each) for each in self.categories],
            "note": self.note,
            "held_out": RULE,
        }


def compare(
    data: LearningSet,
    learned: Learned,
    former: Former | None,
    at: Callable[[str, float], None] = lambda _phase, _share: None,
) -> Comparison:
    """Worse: some measure is, beyond chance. Better: none is worse, and some is better with all of its interval.

    at: told what is being done, and the share of it that is done.
    """
    if former is None:
        return Comparison(None, "better", [], [], NO_FORMER)
    version, after = former.model.version, learned.choice.scores
    if not learned.parts or len(after) != len(learned.parts):
        return Comparison(version, "not comparable", [], [], NOT_MEASURED)
    try:
        twins = _twins(former, learned, at)
    except (BadConfig, BadDataset):
        return Comparison(version, "not comparable", [], [], UNKNOWN_FORMER)
    seed = learned.config.seed
    before = [score(twin, data, out, seed) for twin, out in zip(twins, learned.parts, strict=True)]
    found = {name: each for name in _MEASURES if (each := _measured(before, after, name, data)) is not None}
    both = (twins[0], learned.choice.metrics[0]) if learned.choice.metrics else None
    note = None if found else NOT_MEASURED
    measures = [_measure(name, each) for name, each in found.items()]
    return Comparison(version, _verdict(list(found.values())), measures, _categories(before, after), note, both)


def is_taken(comparison: Comparison, former: Former | None) -> bool:
    """Whether the new model takes over by itself.

    Where nothing could be measured it does if it knows at least what the active one learned, and was learned in the
    same way; else the active one stays: somebody may know why it is there, and with so little to measure on principal
    components are often ahead.
    """
    if comparison.verdict != "not comparable" or former is None:
        return comparison.verdict != "worse"
    return former.data is not None and former.grown


def _measured(
    before: Sequence[FoldScores], after: Sequence[FoldScores], name: Name, data: LearningSet
) -> Difference | None:
    found = difference(before, after, name, data)
    return found if found is not None and found.count >= _LEAST[name] else None


def _twins(former: Former, learned: Learned, at: Callable[[str, float], None]) -> list[Metric]:
    """The active model as it would be without each fold. Raises: BadConfig, BadDataset."""
    if former.data is None:
        return [former.model.metric for _ in learned.parts]
    config = TrainConfig.of_json(former.model.training.get("config"))
    twins = []
    for number, out in enumerate(learned.parts):
        at("comparison with the active model", number / len(learned.parts))
        inside = former.data.without(out)
        if not inside.learnable:
            raise BadDataset("What the active model learned from does not suffice without what is held out.")
        twins.append(fit_member(inside, shortened(config, learned.parts), phase=f"validation {number}"))
    return twins


def _verdict(found: Sequence[Difference]) -> Verdict:
    if not found:
        return "not comparable"
    if any(each.mean < -_STANDARD_ERRORS * each.error for each in found):
        return "worse"
    return "better" if any(each.interval[0] > 0 for each in found) else "even"


def _measure(name: Name, found: Difference) -> Measure:
    low, high = found.interval
    return Measure(name, found.before, found.after, found.mean, low, high, found.count)


def _categories(before: Sequence[FoldScores], after: Sequence[FoldScores]) -> list[Category]:
    names = np.array([name for each in before for name in each.classes])
    if not len(names):
        return []
    was, is_ = (np.concatenate([each.precision for each in scores]) for scores in (before, after))
    return [
        Category(name, float(was[names == name].mean()), float(is_[names == name].mean()), int((names == name).sum()))
        for name in np.unique(names).tolist()
    ]
