"""Which member of the family to learn: the default, or another one that is better on held-out images beyond noise.

How long the choice took decides how many members were tried, so each result is written down: a resumed run counts the
seconds that were spent, and ends with the choice of an uninterrupted one.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trainer.config import MiniBatch, Network, TrainConfig
from trainer.errors import RunFolderError
from trainer.fit import fit_metric
from trainer.held_out import Measured, measure
from trainer.run import Run
from trainer.training_data import TrainingData

__all__ = ["Choice", "choose", "family"]

# Where an interrupted choice goes on; removed when it is made.
_TRIED = "tried.json"

# A member must be ahead of the default by so many standard errors: images share their gallery, so that the errors of
# their precisions are larger than independent ones would be, and of several members the luckiest is looked at.
_STANDARD_ERRORS = 3.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Choice:
    """The member that was chosen, what it measured, and how the others compare."""

    name: str
    config: TrainConfig
    measured: dict[str, Any]
    compared: list[dict[str, Any]]  # name, mean, and for others than the default: difference and its standard error


def family(config: TrainConfig) -> dict[str, TrainConfig]:
    """The default and what may be tried beside it, the most promising first. Only settings differ, d does not."""
    default = config.optimiser
    if not isinstance(default, Network) or not config.time_budget:
        return {"default": config}
    others: dict[str, Network | MiniBatch] = {
        "longer": replace(default, steps=4 * default.steps),
        "freer": replace(default, weight_decay=default.weight_decay / 4, feature_dropout=default.feature_dropout / 2),
        "nearer to its start": replace(default, weight_decay=5 * default.weight_decay),
        "one layer": MiniBatch(),
    }
    return {"default": config} | {name: replace(config, optimiser=settings) for name, settings in others.items()}


def choose(inside: TrainingData, outside: TrainingData, config: TrainConfig, run: Run) -> Choice:
    """Learn from the images inside, measure outside: the default always, others while the time budget lasts.

    Raises: RunFolderError (a checkpoint or an earlier result that does not fit).
    """
    members = family(config)
    tried = _read(run)
    for name, member in members.items():
        if name in tried:
            continue
        if tried and not _affordable(member, config, tried):
            _log.warning(
                "The time budget of %g s ended the choice before %r was tried: --time-budget.", config.time_budget, name
            )
            break
        start = time.monotonic()
        phase = "validation" if name == "default" else f"validation, {name}"
        measured = measure(fit_metric(inside, member, run, phase), outside, member.threshold, config.seed)
        tried[name] = _Tried(measured, time.monotonic() - start)
        if len(members) > 1:
            _write(run, tried)
    return _best(members, {name: one.measured for name, one in tried.items()})


def forget_tries(run: Run) -> None:
    """The choice is written down: what led to it has served."""
    (run.folder / _TRIED).unlink(missing_ok=True)


@dataclass(frozen=True)
class _Tried:
    measured: Measured
    seconds: float


def _affordable(member: TrainConfig, config: TrainConfig, tried: Mapping[str, _Tried]) -> bool:
    """Whether what was spent on others, and what this one will take, is within the budget. The default is free."""
    spent = sum(one.seconds for name, one in tried.items() if name != "default")
    steps = member.optimiser.steps / config.optimiser.steps
    return spent + steps * tried["default"].seconds <= config.time_budget


def _best(members: Mapping[str, TrainConfig], tried: Mapping[str, Measured]) -> Choice:
    default = tried["default"]
    best, most, compared = "default", 0.0, [{"name": "default", "mean": float(default.right.mean())}]
    for name, measured in tried.items():
        if name == "default":
            continue
        difference, error = _paired(measured.right - default.right)
        compared.append(
            {"name": name, "mean": float(measured.right.mean()), "difference": difference, "standard_error": error}
        )
        if difference > max(most, _STANDARD_ERRORS * error):
            best, most = name, difference
    return Choice(best, members[best], tried[best].figures, compared)


def _paired(differences: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Mean, and its standard error."""
    return float(differences.mean()), float(differences.std() / np.sqrt(len(differences)))


def _write(run: Run, tried: Mapping[str, _Tried]) -> None:
    run.write_json(
        _TRIED,
        {
            name: {"figures": one.measured.figures, "right": one.measured.right.tolist(), "seconds": one.seconds}
            for name, one in tried.items()
        },
    )


def _read(run: Run) -> dict[str, _Tried]:
    try:
        return {
            name: _Tried(Measured(one["figures"], np.array(one["right"], np.float64)), float(one["seconds"]))
            for name, one in (run.read_json(_TRIED) or {}).items()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise RunFolderError(f"{run.folder / _TRIED} is damaged ({error!r}): remove it, and resume.") from error
