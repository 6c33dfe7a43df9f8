"""Which member of the family to learn: the default, or another one that is better on held-out images beyond noise.

How long members took decides how many are tried, so each result is written down with its seconds: a resumed run tries
the rest, and has the same choice as an uninterrupted one where the budget lasts for all.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trainer.config import MiniBatch, Network, TrainConfig
from trainer.errors import RunFolderError
from trainer.fit import fit_metric
from trainer.measured import Measured, Weights, measure, weights_of
from trainer.ranks import ALONE, Ranks
from trainer.run import Run
from trainer.training_data import TrainingData

__all__ = ["Choice", "choose", "family", "forget_tries"]

# Where an interrupted choice goes on; removed when it is made.
_TRIED = "tried.json"

# A member must be ahead of the default by so many standard errors: images share their gallery and pairs share images,
# so that errors are larger than independent ones would be, and of several members the luckiest is looked at.
_STANDARD_ERRORS = 3.0

# Fewer queries or pairs, counted as if all weighed the same, tell nothing: others are not tried.
_LEAST_COUNT = 50

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Choice:
    """The member that was chosen, what it measured, and how the others compare."""

    name: str
    measured: dict[str, Any]
    compared: list[dict[str, Any]]  # name, score, and for others than the default: difference and its standard error


def family(config: TrainConfig) -> dict[str, TrainConfig]:
    """The default and what may be tried beside it, the most promising first. d is the same for all."""
    default = config.optimiser
    if not isinstance(default, Network) or not config.time_budget_s:
        return {"default": config}
    greatest_decay = 1 / default.learning_rate
    networks = {
        "longer": replace(default, steps=4 * default.steps),
        "less regularised": replace(
            default, weight_decay=default.weight_decay / 4, feature_dropout=default.feature_dropout / 2
        ),
        "more regularised": replace(default, weight_decay=min(5 * default.weight_decay, greatest_decay)),
    }
    members = {name: replace(config, optimiser=settings) for name, settings in networks.items()}
    return {"default": config, **members, "one layer": replace(config, optimiser=MiniBatch(), b=TrainConfig.b)}


def choose(inside: TrainingData, outside: TrainingData, config: TrainConfig, run: Run, ranks: Ranks = ALONE) -> Choice:
    """Learn from the images inside, measure outside: the default always, others while the time budget lasts.

    Raises: RunFolderError (a checkpoint or an earlier result that does not fit), RanksError.
    """
    weights = weights_of(outside)
    members = family(config) if _count(weights) >= _LEAST_COUNT else {"default": config}
    tried = _read(run, weights)
    too_long = []
    for name, member in members.items():
        if name in tried:
            continue
        if tried and not _affordable(member, config, tried):
            too_long.append(name)
            continue
        tried[name] = _try(name, member, inside, outside, run, ranks)
        if len(members) > 1:
            _write(run, tried)
    if too_long:
        _log.warning(
            "Not tried within the time budget of %g s: %s (--time-budget).", config.time_budget_s, ", ".join(too_long)
        )
    return _best({name: one.measured for name, one in tried.items()})


def forget_tries(run: Run) -> None:
    """The choice is written down: what led to it has served."""
    (run.folder / _TRIED).unlink(missing_ok=True)


@dataclass(frozen=True)
class _Tried:
    measured: Measured
    seconds: float


def _try(name: str, member: TrainConfig, inside: TrainingData, outside: TrainingData, run: Run, ranks: Ranks) -> _Tried:
    phase = "validation" if name == "default" else f"validation, {name}"
    checkpoint, steps = run.load_checkpoint(phase), member.optimiser.steps
    ahead = steps - (checkpoint.step if checkpoint else 0)
    start = time.monotonic()
    measured = measure(fit_metric(inside, member, run, phase, ranks), outside, member.threshold, member.seed)
    seconds = time.monotonic() - start
    return _Tried(measured, seconds * steps / ahead if ahead else seconds)  # as if it had not been interrupted


def _affordable(member: TrainConfig, config: TrainConfig, tried: Mapping[str, _Tried]) -> bool:
    """Whether what was spent on others, and what this one will take, is within the budget. The default is free."""
    spent = sum(one.seconds for name, one in tried.items() if name != "default")
    steps = member.optimiser.steps / config.optimiser.steps
    return spent + steps * tried["default"].seconds <= config.time_budget_s


def _count(weights: Weights) -> float:
    """Of scores of the same weight that would tell as much."""
    return float(1 / np.square(weights).sum())


def _best(tried: Mapping[str, Measured]) -> Choice:
    default = tried["default"]
    best, most = "default", 0.0
    compared: list[dict[str, Any]] = [{"name": "default", "score": default.score}]
    for name, measured in tried.items():
        if name == "default":
            continue
        difference, error = _difference(measured, default)
        compared.append({"name": name, "score": measured.score, "difference": difference, "standard_error": error})
        if difference > max(most, _STANDARD_ERRORS * error):
            best, most = name, difference
    return Choice(best, tried[best].figures, compared)


def _difference(measured: Measured, default: Measured) -> tuple[float, float]:
    """Of the scores, query by query or pair by pair, and its standard error."""
    differences, weights = measured.scores - default.scores, default.weights
    mean = float(weights @ differences)
    return mean, float(np.sqrt(np.square(weights) @ np.square(differences - mean)))


def _write(run: Run, tried: Mapping[str, _Tried]) -> None:
    rows = {
        name: {
            "figures": one.measured.figures,
            "scores": one.measured.scores.tolist(),
            "seconds": one.seconds,
        }
        for name, one in tried.items()
    }
    run.write_json(_TRIED, rows)


def _read(run: Run, weights: Weights) -> dict[str, _Tried]:
    found = run.read_json(_TRIED) or {}
    try:
        tried = {
            name: _Tried(Measured(one["figures"], np.array(one["scores"], float), weights), float(one["seconds"]))
            for name, one in found.items()
        }
        if any(one.measured.scores.shape != weights.shape for one in tried.values()) or (
            tried and "default" not in tried
        ):
            raise ValueError("it is not of one choice")
    except (KeyError, TypeError, ValueError) as error:
        raise RunFolderError(f"{run.folder / _TRIED} is damaged ({error}): remove it, and resume.") from error
    return tried
