"""The training loop: from features and pairs to a metric. Each phase of a run goes on where it was killed."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from embedding.metric import Chi2Metric, Metric
from trainer.config import MiniBatch, Network, OnePair, TrainConfig
from trainer.errors import RunFolderError
from trainer.initialisation import initial_landmarks
from trainer.mini_batch import MiniBatchAdam
from trainer.network import NetworkAdam
from trainer.one_pair import SparseRows, descend
from trainer.ranks import ALONE, Ranks
from trainer.run import Checkpoint, Run
from trainer.sampling import PairIndices, draw_pairs, generator
from trainer.threads import one_thread
from trainer.training_data import TrainingData

__all__ = ["fit_along", "fit_metric"]

# Steps between two reports and checkpoints.
_MINI_BATCH_REPORT = 50
_ONE_PAIR_REPORT = 20_000


class _Optimiser(Protocol):
    """A fit under way. `advance` moves it by some steps and says how they went."""

    def advance(self, first: int, last: int) -> dict[str, float]:
        """Do the steps first, ..., last - 1; returns means for the log."""

    def metric(self) -> Metric:
        """What is learned by now."""

    def state(self) -> dict[str, npt.NDArray[np.float32]]: ...

    def restore(self, state: dict[str, npt.NDArray[np.float32]]) -> None: ...


def fit_metric(
    data: TrainingData,
    config: TrainConfig,
    run: Run | None,
    phase: str,
    ranks: Ranks = ALONE,
    *,
    seeds: str | None = None,
) -> Metric:
    """Learn a metric of d dimensions. The same data, settings and phase give the same one, interrupted or not, on any
    number of cores: a step's arrays are small, and more threads than one would only add their parts in another order.
    Several processes give the same one up to rounding.

    phase: its name in the log and the checkpoints. seeds: what draws are made by beside the seed; None: the phase.
    run: where the log and the checkpoints go; None keeps neither and shows no progress.
    ranks: this process, the first one, and others that are in `fit_along`. They take mini-batches only.
    Raises: RunFolderError (a checkpoint that does not fit), RanksError.
    """
    with one_thread():
        if ranks.count > 1:
            ranks.agreed((config, seeds or phase))
            data = ranks.latest(data)
        return _fit(data, config, run, phase, ranks, seeds or phase)


def fit_along(ranks: Ranks) -> None:
    """What the other processes do: their part of each fit of the first one, until it dismisses them.

    Raises: RanksError.
    """
    while (task := ranks.heard()) is not None:
        config, phase = task
        with one_thread():
            _fit(ranks.latest(), config, None, phase, ranks, phase)


def _fit(data: TrainingData, config: TrainConfig, run: Run | None, phase: str, ranks: Ranks, seeds: str) -> Metric:
    settings = config.optimiser
    optimiser: _Optimiser
    if isinstance(settings, Network):
        optimiser, report = NetworkAdam(data, config, settings, seeds, ranks), _MINI_BATCH_REPORT
    elif isinstance(settings, MiniBatch):
        optimiser, report = MiniBatchAdam(data, config, settings, seeds, ranks), _MINI_BATCH_REPORT
    else:
        optimiser, report = _OnePairSgd(data, config, settings, seeds), _ONE_PAIR_REPORT
    begin = _begin_together(optimiser, _resume(optimiser, run, phase) if run else 0, ranks)
    with tqdm(
        total=settings.steps, initial=begin, desc=phase, unit="step", unit_scale=True, disable=run is None
    ) as progress:
        for first, last in _chunks(begin, settings.steps, report):
            means = optimiser.advance(first, last)
            if run:
                run.log({"phase": phase, "step": last, **means})
                run.save_checkpoint(Checkpoint(phase, last, optimiser.state()))
            progress.set_postfix({name: f"{value:.3g}" for name, value in means.items()}, refresh=False)
            progress.update(last - first)
    return optimiser.metric()


def _resume(optimiser: _Optimiser, run: Run, phase: str) -> int:
    checkpoint = run.load_checkpoint(phase)
    begin = 0
    if checkpoint is not None:
        try:
            optimiser.restore(checkpoint.arrays)
        except (KeyError, RuntimeError, ValueError) as error:
            raise RunFolderError(f"The checkpoint in {run.folder} does not fit ({error}): start a new run.") from error
        begin = checkpoint.step
    run.forget_after(phase, begin)
    return begin


def _begin_together(optimiser: _Optimiser, begin: int, ranks: Ranks) -> int:
    """Bring the others to where the first process goes on."""
    if ranks.count == 1:
        return begin
    begin, state = ranks.agreed((begin, optimiser.state() if begin else {}))
    if state and not ranks.first:
        optimiser.restore(state)
    return begin


def _chunks(begin: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut at multiples of `size`, so that a resumed run has the same chunks."""
    while begin < end:
        last = min(end, (begin // size + 1) * size)
        yield begin, last
        begin = last


class _OnePairSgd:
    """Algorithm 1 over pairs that are drawn once, visited at random."""

    def __init__(self, data: TrainingData, config: TrainConfig, settings: OnePair, phase: str):
        self._config, self._settings, self._phase = config, settings, phase
        self._histograms = SparseRows.of(data.histograms)
        feature_dim = data.histograms.shape[1]
        rng = generator(config.seed, phase + " start", 0)
        start = initial_landmarks(config.initialisation, config.d, feature_dim, rng)
        self._landmarks = start
        known = data.known
        self._pairs = known if isinstance(known, PairIndices) else draw_pairs(known, settings.pairs, rng)

    def advance(self, first: int, last: int) -> dict[str, float]:
        chosen = generator(self._config.seed, self._phase, first).integers(len(self._pairs), size=last - first)
        pairs = self._pairs.take(chosen)
        settings = self._settings
        violations = descend(
            self._histograms,
            self._landmarks,
            pairs,
            learning_rate=settings.learning_rate,
            b=self._config.b,
            m=settings.m,
        )
        similar = int(pairs.similar.sum())
        return {
            "similar_violations": violations[0] / max(1, similar),
            "dissimilar_violations": violations[1] / max(1, len(pairs) - similar),
        }

    def metric(self) -> Chi2Metric:
        return Chi2Metric(self._landmarks)

    def state(self) -> dict[str, npt.NDArray[np.float32]]:
        return {"landmarks": self._landmarks}

    def restore(self, state: dict[str, npt.NDArray[np.float32]]) -> None:
        self._landmarks[:] = state["landmarks"]
