"""The training loops: from features and pairs to L. One phase of a run each; a killed phase goes on where it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from embedding.kernel import shifted_chi2_kernel
from trainer.config import MiniBatch, OnePair, TrainConfig
from trainer.errors import RunFolderError
from trainer.initialisation import initial_landmarks
from trainer.loss import balanced_mean, pair_hinge
from trainer.one_pair import SparseRows, descend
from trainer.run import Checkpoint, Run
from trainer.sampling import BatchSampler, ClassBatches, Labels, PairBatches, PairIndices, draw_pairs, generator

__all__ = ["TrainingData", "fit_landmarks"]

# Steps between two reports and checkpoints.
_MINI_BATCH_REPORT = 50
_ONE_PAIR_REPORT = 20_000

_ADAM_BETAS = (0.9, 0.99)  # the second one shorter than usual: a run has a thousand steps


@dataclass(frozen=True)
class TrainingData:
    """l1-normalised features with what is known of them: a class each, or pairs."""

    histograms: npt.NDArray[np.float32]  # (n, D)
    known: Labels | PairIndices  # labels (n,)

    def within(self, chosen: npt.NDArray[np.bool_]) -> "TrainingData":
        """The part of the chosen images; pairs with an end outside are left out. chosen: mask (n,)."""
        known = self.known.within(chosen) if isinstance(self.known, PairIndices) else self.known[chosen]
        return TrainingData(np.ascontiguousarray(self.histograms[chosen]), known)

    @property
    def learnable(self) -> bool:
        """Whether there are similar and dissimilar pairs in it."""
        if isinstance(self.known, PairIndices):
            return bool(self.known.similar.any() and not self.known.similar.all())
        counts = np.bincount(self.known)
        return bool(len(self.known) and (counts > 0).sum() >= 2 and counts.max() >= 2)


class _Optimiser(Protocol):
    """A fit under way. `advance` moves it by some steps and says how they went."""

    def advance(self, first: int, last: int) -> dict[str, float]:
        """Do the steps first, ..., last - 1; returns means for the log."""

    def landmarks(self) -> npt.NDArray[np.float32]:
        """L as it is now, (d, D)."""

    def state(self) -> dict[str, npt.NDArray[np.float32]]: ...

    def restore(self, state: dict[str, npt.NDArray[np.float32]]) -> None: ...


def fit_landmarks(data: TrainingData, config: TrainConfig, run: Run, phase: str) -> npt.NDArray[np.float32]:
    """Learn L of shape (d, D). The same data, settings and phase give the same L, interrupted or not, on any number
    of cores: a step's arrays are small, and more threads than one would only add their parts in another order.

    Raises: RunFolderError (a checkpoint that does not fit).
    """
    with _one_thread():
        return _fit(data, config, run, phase)


def _fit(data: TrainingData, config: TrainConfig, run: Run, phase: str) -> npt.NDArray[np.float32]:
    settings = config.optimiser
    optimiser: _Optimiser
    if isinstance(settings, MiniBatch):
        optimiser, report = _MiniBatchAdam(data, config, settings, phase), _MINI_BATCH_REPORT
    else:
        optimiser, report = _OnePairSgd(data, config, settings, phase), _ONE_PAIR_REPORT
    begin = _resume(optimiser, run, phase)
    with tqdm(total=settings.steps, initial=begin, desc=phase, unit="step", unit_scale=True) as progress:
        for first, last in _chunks(begin, settings.steps, report):
            means = optimiser.advance(first, last)
            run.log({"phase": phase, "step": last, **means})
            run.save_checkpoint(Checkpoint(phase, last, optimiser.state()))
            progress.set_postfix({name: f"{value:.3g}" for name, value in means.items()}, refresh=False)
            progress.update(last - first)
    return optimiser.landmarks()


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


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


def _chunks(begin: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut at multiples of `size`, so that a resumed run has the same chunks."""
    while begin < end:
        last = min(end, (begin // size + 1) * size)
        yield begin, last
        begin = last


class _MiniBatchAdam:
    """Adam on the pairs of a batch. L is held in units of 1/D, so that one learning rate fits every D."""

    def __init__(self, data: TrainingData, config: TrainConfig, settings: MiniBatch, phase: str):
        self._config, self._settings, self._phase = config, settings, phase
        feature_dim = data.histograms.shape[1]
        self._scale = float(feature_dim)
        self._features = torch.from_numpy(data.histograms) * self._scale
        self._sampler = _sampler(data, settings)
        start = initial_landmarks(
            config.initialisation, config.d, feature_dim, generator(config.seed, phase + " start", 0)
        )
        self._landmarks = (torch.from_numpy(start) * self._scale).requires_grad_()
        self._adam = torch.optim.Adam([self._landmarks], betas=_ADAM_BETAS)

    def advance(self, first: int, last: int) -> dict[str, float]:
        reports = [self._step(step) for step in range(first, last)]
        return {name: float(np.mean([report[name] for report in reports])) for name in reports[0]}

    def _step(self, step: int) -> dict[str, float]:
        settings, rng = self._settings, generator(self._config.seed, self._phase, step)
        batch = self._sampler.batch(rng)
        # The same features are left out for all images of a step. Dividing by the share that stays keeps distances at
        # about their size; it is exact for a linear map only, which a regulariser need not be.
        kept = torch.from_numpy(rng.random(self._features.shape[1]) >= settings.feature_dropout)
        x = self._features.index_select(0, torch.from_numpy(batch.rows)) * (
            kept / (1 - settings.feature_dropout)
        )  # (r, D)
        embeddings = shifted_chi2_kernel(x, self._landmarks) / self._scale  # (r, d)
        left, right = (
            embeddings.index_select(0, torch.from_numpy(end)) for end in (batch.pairs.left, batch.pairs.right)
        )
        differences = left - right  # (P, d)
        similar = torch.from_numpy(batch.pairs.similar)
        losses = pair_hinge(differences.square().sum(1), similar, self._config.b, settings.m)  # (P,)
        loss = balanced_mean(losses, similar)
        self._adam.param_groups[0]["lr"] = settings.learning_rate * _cosine(step / settings.steps)
        self._adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._adam.step()
        return {"loss": float(loss.detach()), **_violation_rates(losses > 0, similar)}

    def landmarks(self) -> npt.NDArray[np.float32]:
        return np.ascontiguousarray((self._landmarks.detach() / self._scale).numpy())

    def state(self) -> dict[str, npt.NDArray[np.float32]]:
        moments = self._adam.state[self._landmarks]
        names = ("step", "exp_avg", "exp_avg_sq")
        return {"landmarks": self._landmarks.detach().numpy()} | {name: moments[name].numpy() for name in names}

    def restore(self, state: dict[str, npt.NDArray[np.float32]]) -> None:
        with torch.no_grad():
            self._landmarks.copy_(torch.from_numpy(state["landmarks"]))
        self._adam.state[self._landmarks] = {
            name: torch.from_numpy(array) for name, array in state.items() if name != "landmarks"
        }


class _OnePairSgd:
    """Algorithm 1 over pairs that are drawn once, visited at random."""

    def __init__(self, data: TrainingData, config: TrainConfig, settings: OnePair, phase: str):
        self._config, self._settings, self._phase = config, settings, phase
        self._histograms = SparseRows.of(data.histograms)
        feature_dim = data.histograms.shape[1]
        rng = generator(config.seed, phase + " start", 0)
        start = initial_landmarks(config.initialisation, config.d, feature_dim, rng)
        self._columns = np.ascontiguousarray(start.T)  # (D, d)
        known = data.known
        self._pairs = known if isinstance(known, PairIndices) else draw_pairs(known, settings.pairs, rng)

    def advance(self, first: int, last: int) -> dict[str, float]:
        chosen = generator(self._config.seed, self._phase, first).integers(len(self._pairs), size=last - first)
        pairs = PairIndices(self._pairs.left[chosen], self._pairs.right[chosen], self._pairs.similar[chosen])
        settings = self._settings
        violations = descend(
            self._histograms,
            self._columns,
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

    def landmarks(self) -> npt.NDArray[np.float32]:
        return np.ascontiguousarray(self._columns.T)

    def state(self) -> dict[str, npt.NDArray[np.float32]]:
        return {"columns": self._columns}

    def restore(self, state: dict[str, npt.NDArray[np.float32]]) -> None:
        self._columns[:] = state["columns"]


def _sampler(data: TrainingData, settings: MiniBatch) -> BatchSampler:
    if isinstance(data.known, PairIndices):
        return PairBatches(data.known, settings.pairs_per_batch)
    return ClassBatches(data.known, settings.classes_per_batch, settings.images_per_class)


def _violation_rates(violating: torch.Tensor, similar: torch.Tensor) -> dict[str, float]:
    """Shares of the similar and of the dissimilar pairs that violate the margin, 0 where there are none."""
    signs = {"similar_violations": similar, "dissimilar_violations": ~similar}
    return {name: int((violating & sign).sum()) / max(1, int(sign.sum())) for name, sign in signs.items()}


def _cosine(progress: float) -> float:
    """From 1 at the start to 0 at the end of the run. progress: 0 to 1."""
    return (1 + float(np.cos(np.pi * progress))) / 2
