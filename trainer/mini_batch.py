"""Adam on the pairs of a batch: the usual way to learn L."""

import numpy as np
import numpy.typing as npt
import torch

from embedding.kernel import shifted_chi2_kernel
from embedding.metric import Chi2Metric
from trainer.config import MiniBatch, TrainConfig
from trainer.initialisation import initial_landmarks
from trainer.loss import balanced_mean, pair_hinge
from trainer.progress import cosine, means, violation_rates
from trainer.ranks import ALONE, Ranks
from trainer.sampling import PairIndices, batches_of, generator
from trainer.training_data import TrainingData

__all__ = ["MiniBatchAdam"]

_ADAM_BETAS = (0.9, 0.99)  # the second one shorter than usual: a run has a thousand steps

# Distances of all pairs of a batch are made where at least one in so many is asked for.
_DENSE = 4


class MiniBatchAdam:
    """A fit under way. L is held in units of 1/D, so that one learning rate fits every D."""

    def __init__(self, data: TrainingData, config: TrainConfig, settings: MiniBatch, phase: str, ranks: Ranks = ALONE):
        self._config, self._settings, self._phase, self._ranks = config, settings, phase, ranks
        feature_dim = data.histograms.shape[1]
        self._scale = float(feature_dim)
        self._features = ranks.tensor(data.histograms) * self._scale
        self._sampler = batches_of(data.known, settings)
        start = initial_landmarks(
            config.initialisation, config.d, feature_dim, generator(config.seed, phase + " start", 0)
        )
        self._landmarks = (ranks.tensor(start) * self._scale).requires_grad_()
        self._adam = torch.optim.Adam([self._landmarks], betas=_ADAM_BETAS)

    def advance(self, first: int, last: int) -> dict[str, float]:
        return means([self._step(step) for step in range(first, last)])

    def _step(self, step: int) -> dict[str, float]:
        settings, ranks, rng = self._settings, self._ranks, generator(self._config.seed, self._phase, step)
        batch = self._sampler.batch(rng)
        kept = ranks.tensor(self._kept_features(rng))  # (D',)
        own = ranks.tensor(batch.rows[ranks.share(len(batch.rows))])  # (r',), those that this process embeds
        x = self._features.index_select(0, own).index_select(1, kept)  # (r', D')
        x /= 1 - settings.feature_dropout
        embeddings = shifted_chi2_kernel(x, self._landmarks.index_select(1, kept)) / self._scale  # (r', d)
        embeddings = ranks.gathered(embeddings, len(batch.rows))  # (r, d)
        similar = ranks.tensor(batch.pairs.similar)
        losses = pair_hinge(_squared_distances(embeddings, batch.pairs), similar, self._config.b, settings.m)  # (P,)
        loss = balanced_mean(losses, similar)
        self._adam.param_groups[0]["lr"] = settings.learning_rate * cosine(step / settings.steps)
        self._adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        ranks.add_gradients([self._landmarks])
        self._adam.step()
        return {"loss": float(loss.detach()), **violation_rates(losses > 0, similar)}

    def _kept_features(self, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """The same features are left out for all images of a step; at least one stays.

        Dividing by the share that stays keeps distances at about their size; it is exact for a linear map only, which a
        regulariser need not be.
        """
        feature_dim = self._features.shape[1]
        kept = np.flatnonzero(rng.random(feature_dim) >= self._settings.feature_dropout)
        return kept if len(kept) else np.array([int(rng.integers(feature_dim))])

    def metric(self) -> Chi2Metric:
        return Chi2Metric(np.ascontiguousarray((self._landmarks.detach() / self._scale).cpu().numpy()))

    def state(self) -> dict[str, npt.NDArray[np.float32]]:
        moments = self._adam.state[self._landmarks]
        names = ("step", "exp_avg", "exp_avg_sq")
        return {"landmarks": self._landmarks.detach().cpu().numpy()} | {
            name: moments[name].cpu().numpy() for name in names
        }

    def restore(self, state: dict[str, npt.NDArray[np.float32]]) -> None:
        with torch.no_grad():
            self._landmarks.copy_(torch.from_numpy(state["landmarks"]))
        self._adam.state[self._landmarks] = {
            # Adam keeps its count of steps on the CPU.
            name: torch.from_numpy(array) if name == "step" else self._ranks.tensor(array)
            for name, array in state.items()
            if name != "landmarks"
        }


def _squared_distances(embeddings: torch.Tensor, pairs: PairIndices) -> torch.Tensor:
    """Of each pair, (P,). embeddings: (r, d)."""
    left, right = (torch.from_numpy(ends).to(embeddings.device) for ends in (pairs.left, pairs.right))
    rows = len(embeddings)
    if rows * rows > _DENSE * len(pairs):
        return (embeddings.index_select(0, left) - embeddings.index_select(0, right)).square().sum(1)
    # Most pairs of the batch are asked for: one product gives all of them. Centred, so that little cancels.
    centred = embeddings - embeddings.detach().mean(0)
    norms = centred.square().sum(1)
    distances = norms[:, None] + norms - 2 * centred @ centred.T  # (r, r)
    return distances.flatten().index_select(0, left * rows + right)
