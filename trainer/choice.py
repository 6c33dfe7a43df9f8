"""Which member of the family to learn: how far deep NML is bent away from the discriminant that it starts as.

A member is learned without each fold and measured on it. The one that the size of the data suggests is taken unless
one of its neighbours is ahead beyond noise. How long members took decides how many are tried, so each result is written
down with its seconds: a resumed run tries the rest, and has the same choice as an uninterrupted one where the budget
lasts for all.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from embedding.metric import Metric
from trainer.config import Network, TrainConfig
from trainer.errors import RunFolderError
from trainer.fit import fit_metric
from trainer.learning_set import LearningSet, Mask
from trainer.ranks import ALONE, Ranks
from trainer.run import Run
from trainer.sampling import PairIndices
from trainer.scores import Difference, FoldScores, K, difference, score, similar_others
from trainer.training_data import TrainingData

__all__ = ["Choice", "choose", "data_for", "family", "forget_tries", "measures", "shortened", "suggested"]

# Where an interrupted choice goes on; removed when it is made.
_TRIED = "tried.json"

# Weight decays, times those of the settings. Without any step the network is the discriminant. Chosen on held-out parts
# of the training splits of four image sets, from 40 to 3,400 labelled images and from 100 to 5,000 pairs.
_BENDS: dict[str, float] = {"tight": 25.0, "middle": 5.0, "loose": 1.0}
STRAIGHT = "straight"

# Up to so many labelled images (or pairs, where hardly any image has a label) each is what is best on most sets.
_LABELS: tuple[tuple[float, str], ...] = ((30, STRAIGHT), (300, "tight"), (2000, "middle"), (np.inf, "loose"))
_PAIRS: tuple[tuple[float, str], ...] = ((2000, STRAIGHT), (np.inf, "middle"))
_FEW_LABELS = 20  # fewer than these, and pairs decide

# A neighbour must be ahead of the suggested member by so many standard errors, and others are not tried, nor is a
# looser one where fewer than K of a kind are held out: mprec@10 is then about how far kinds lie apart, and not, as in
# a whole collection, about what is nearest. It speaks for a loose bend that loses up to eight points there.
_STANDARD_ERRORS = 2.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Choice:
    """The member that was chosen, what it measured on each fold, and how the others compare."""

    name: str
    scores: list[FoldScores]
    metrics: list[Metric]  # learned without each fold; none where the run was resumed
    compared: list[dict[str, Any]]  # name, score, and for others than the suggested one: difference, its standard error


def suggested(data: LearningSet) -> str:
    """The member that fits the size of the data, counted in images that stand for the collection."""
    labels = data.evenness * float(data.has_label.sum())
    pairs = data.pair_independence * len(data.telling)
    by_size, size = (_LABELS, labels) if labels >= min(_FEW_LABELS, pairs) else (_PAIRS, pairs)
    return next(name for most, name in by_size if size <= most)


def family(config: TrainConfig) -> dict[str, TrainConfig]:
    """All members by name. d is the same for all. Another method than deep NML, or one without a budget, is alone."""
    default = config.optimiser
    if not isinstance(default, Network) or not config.time_budget_s:
        return {"default": config}
    greatest = 1 / default.learning_rate
    bent = {
        name: replace(default, weight_decay=min(times * default.weight_decay, greatest))
        for name, times in _BENDS.items()
    }
    networks = {STRAIGHT: replace(default, steps=0), **bent}
    return {name: replace(config, optimiser=settings) for name, settings in networks.items()}


def choose(
    data: LearningSet,
    parts: Sequence[Mask],
    config: TrainConfig,
    run: Run | None,
    ranks: Ranks = ALONE,
    at: Callable[[str, float], None] = lambda _phase, _share: None,
) -> Choice:
    """Learn without each part and measure on it: the suggested member always, its neighbours within the time budget.

    parts: folds, masks (n,). at: told what is being done, and the share of it that is done.
    Raises: RunFolderError (a checkpoint or an earlier result that does not fit), RanksError.
    """
    members = family(config)
    first = suggested(data) if len(members) > 1 else "default"
    usable = [out for out in parts if data.without(out).learnable]
    if not usable:
        return Choice(first, [], [], [])
    tries = _Tries(run, data, usable, config, ranks)
    order = list(members)
    place = order.index(first)
    looser = order[place + 1 : place + 2] if _has_many_to_find(data, usable) else []
    names = [first, *order[max(place - 1, 0) : place], *looser]
    for step, name in enumerate(names):
        at(f"validation: {name}", step / len(names))
        if step and not tries.affordable(members[name], len(usable)):
            _log.warning("Not tried within the time budget of %g s: %s.", config.time_budget_s, name)
            continue
        for number in range(len(usable)):
            tries.score(name, members[name], number)
    return tries.best(first, len(usable))


def _has_many_to_find(data: LearningSet, parts: Sequence[Mask]) -> bool:
    """Whether half of the labelled images that are out have K others of their label to find, or more."""
    found = np.concatenate([similar_others(data.numbers[out & data.has_label]) for out in parts])
    return len(found) > 0 and float(np.median(found)) >= K


def data_for(data: LearningSet, member: TrainConfig) -> TrainingData:
    """What a member learns from: plain NML has no use for images that nothing is known of."""
    if isinstance(member.optimiser, Network):
        return data.training_data(member.seed)
    made = data.training_data(member.seed)
    named = made.known.named(len(data)) if isinstance(made.known, PairIndices) else data.has_label
    return made if named.all() else data.within(named).training_data(member.seed)


def shortened(member: TrainConfig, parts: Sequence[Mask]) -> TrainConfig:
    """What is learned without a part, where several parts are left out in turn: half of the steps tell as much.

    On held-out images it is behind all of them by half a point, and ranks members as they do.
    """
    optimiser = member.optimiser
    if not isinstance(optimiser, Network) or len(parts) < 2 or not member.time_budget_s:
        return member
    return replace(member, optimiser=replace(optimiser, steps=optimiser.steps // 2))


def forget_tries(run: Run) -> None:
    """The choice is written down: what led to it has served."""
    (run.folder / _TRIED).unlink(missing_ok=True)


def measures(scores: Sequence[FoldScores]) -> dict[str, Any]:
    """What goes into the run folder and the model file about the member that was chosen."""
    found: dict[str, Any] = {"folds": len(scores)}
    if (queries := difference(scores, scores, "mprec_at_10")) is not None:
        found |= {"mprec_at_10": queries.after, "queries": queries.count}
    if (pairs := difference(scores, scores, "pair_auc")) is not None:
        found |= {"pair_auc": pairs.after, "held_out_pairs": pairs.count}
    return found


@dataclass(frozen=True)
class _Tried:
    scores: FoldScores
    seconds: float


class _Tries:
    """What was measured by now, also by a run that was interrupted."""

    def __init__(self, run: Run | None, data: LearningSet, parts: Sequence[Mask], config: TrainConfig, ranks: Ranks):
        self._run, self._data, self._parts, self._config, self._ranks = run, data, parts, config, ranks
        self._inside: dict[int, TrainingData] = {}  # by fold: what several members learn from
        self._tried: dict[str, list[_Tried]] = _read(run) if run else {}
        self._metrics: dict[tuple[str, int], Metric] = {}
        self._first: str | None = None

    def score(self, name: str, member: TrainConfig, number: int) -> None:
        """Of a member on one fold, unless that is known. The first member that is asked for costs no budget."""
        self._first = self._first or name
        tried = self._tried.setdefault(name, [])
        if number < len(tried):
            return
        start = time.monotonic()
        out, phase = self._parts[number], f"validation {number}"
        if number not in self._inside:
            self._inside[number] = data_for(self._data.without(out), member)
        data = self._inside[number]
        metric = fit_metric(
            data, shortened(member, self._parts), self._run, f"{phase}, {name}", self._ranks, seeds=phase
        )
        self._metrics[name, number] = metric
        tried.append(_Tried(score(metric, self._data, out, member.seed), time.monotonic() - start))
        if self._run:
            self._run.write_json(_TRIED, _as_json(self._tried))

    def affordable(self, member: TrainConfig, count: int) -> bool:
        """Whether what was spent on others than the first, and what this one will take, is within the budget."""
        spent = sum(one.seconds for name, tries in self._tried.items() if name != self._first for one in tries)
        slowest = max((one.seconds for tries in self._tried.values() for one in tries), default=0.0)
        ahead = slowest * count if member.optimiser.steps else 0.0
        return spent + ahead <= self._config.time_budget_s

    def best(self, first: str, count: int) -> Choice:
        """Among those that were measured on all folds."""
        scores = {name: [one.scores for one in tries] for name, tries in self._tried.items() if len(tries) == count}
        name, compared = _best(first, scores, self._data)
        metrics = [self._metrics[name, number] for number in range(count) if (name, number) in self._metrics]
        return Choice(name, scores[name], metrics if len(metrics) == count else [], compared)


def _main(before: Sequence[FoldScores], after: Sequence[FoldScores], data: LearningSet) -> Difference | None:
    """The measure that members are chosen by: retrieval where there are queries, else verdicts."""
    return difference(before, after, "mprec_at_10", data) or difference(before, after, "pair_auc", data)


def _best(first: str, tried: Mapping[str, list[FoldScores]], data: LearningSet) -> tuple[str, list[dict[str, Any]]]:
    best, most = first, 0.0
    base = _main(tried[first], tried[first], data)
    compared: list[dict[str, Any]] = [{"name": first, "score": base.after if base else None}]
    for name, scores in tried.items():
        if name == first or (found := _main(tried[first], scores, data)) is None:
            continue
        compared.append({"name": name, "score": found.after, "difference": found.mean, "standard_error": found.error})
        if found.mean > max(most, _STANDARD_ERRORS * found.error):
            best, most = name, found.mean
    return best, compared


def _as_json(tried: Mapping[str, Sequence[_Tried]]) -> dict[str, Any]:
    return {
        name: [{"scores": one.scores.to_json(), "seconds": one.seconds} for one in tries]
        for name, tries in tried.items()
    }


def _read(run: Run) -> dict[str, list[_Tried]]:
    found = run.read_json(_TRIED) or {}
    try:
        return {
            name: [_Tried(FoldScores.from_json(one["scores"]), float(one["seconds"])) for one in tries]
            for name, tries in found.items()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise RunFolderError(f"{run.folder / _TRIED} is damaged ({error}): remove it, and resume.") from error
