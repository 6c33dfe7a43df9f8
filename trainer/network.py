"""Deep NML: learns a network of Hellinger kernel units by AdamW, from classes or from pairs.

The network starts as the pair discriminant of its images (`trainer.discriminant`), and its units learn what to add: few
labels, few pairs, and wrong ones, then only bend what all images, those without a label too, and the closed form say
anyway. After no step at all it is the discriminant.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import normalize

from embedding.hellinger import HellingerNetwork
from embedding.metric import row_blocks
from trainer.config import UNIT_THRESHOLD, Network, TrainConfig
from trainer.discriminant import discriminant_directions
from trainer.errors import BadDataset
from trainer.loss import pair_cross_entropy, supervised_contrastive
from trainer.progress import cosine, means, violation_rates
from trainer.ranks import ALONE, Ranks
from trainer.sampling import PairBatches, PairIndices, batches_of, generator
from trainer.standardised import spread, with_dropout
from trainer.training_data import TrainingData

__all__ = ["NetworkAdam"]

_ADAM_BETAS = (0.9, 0.99)  # the second one shorter than usual: a run has a few hundred steps
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")

# Of the loss on given pairs: how steeply the probability of "similar" falls with squared distance.
_SLOPE = 5.0
# Of the same loss: how far it gives up pairs that contradict all others.
_Q = 0.7

# Fewer pairs than this hold the network nearer to its start: down to the least number the decay grows by this power.
_MANY_PAIRS, _FEWEST_PAIRS, _DECAY_POWER = 10_000, 100, 0.6


class NetworkAdam:
    """A fit under way. Units see the roots of the histograms, standardised; `metric` folds that into its parameters."""

    def __init__(self, data: TrainingData, config: TrainConfig, settings: Network, phase: str, ranks: Ranks = ALONE):
        self._config, self._settings, self._phase, self._ranks = config, settings, phase, ranks
        self._roots = np.sqrt(data.histograms)
        self._mean, self._deviation = spread(self._roots)
        self._sampler = batches_of(data.known, settings)
        self._from_pairs = isinstance(data.known, PairIndices)
        verdicts = data.verdicts if data.verdicts is not None and len(data.verdicts) else None
        self._verdicts = PairBatches(verdicts, settings.pairs_per_batch) if verdicts else None
        rng = generator(config.seed, phase + " start", 0)
        start = _start(data.histograms.shape[1], settings.hidden_units, config.d, rng)
        self._parameters = {name: ranks.tensor(values).requires_grad_() for name, values in start.items()}
        # On another machine directions may have other signs.
        self._direct = ranks.tensor(ranks.agreed(_directions(data, config, self._deviation)))  # (D, d)
        self._adam = torch.optim.AdamW(
            self._parameters.values(), betas=_ADAM_BETAS, weight_decay=_weight_decay(data, settings), fused=True
        )

    def _standardised(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """What the network sees of these images: (r, D)."""
        seen: npt.NDArray[np.float32] = (self._roots[rows] - self._mean) / self._deviation
        return seen

    def advance(self, first: int, last: int) -> dict[str, float]:
        return means([self._step(step) for step in range(first, last)])

    def _step(self, step: int) -> dict[str, float]:
        settings, ranks, rng = self._settings, self._ranks, generator(self._config.seed, self._phase, step)
        batch = self._sampler.batch(rng)
        similarities = self._similarities(batch.rows, rng)
        left, right = ranks.tensor(batch.pairs.left), ranks.tensor(batch.pairs.right)
        distances = 2 - 2 * similarities[left, right]  # (P,), of unit vectors
        similar = ranks.tensor(batch.pairs.similar)
        if self._from_pairs:
            loss = pair_cross_entropy(distances, similar, UNIT_THRESHOLD, _SLOPE, _Q)
        else:
            same = torch.zeros_like(similarities, dtype=torch.bool)
            same[left, right] = same[right, left] = similar
            loss = supervised_contrastive(similarities, same, settings.temperature) + self._loss_of_verdicts(rng)
        self._adam.param_groups[0]["lr"] = settings.learning_rate * cosine(step / settings.steps)
        self._adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        ranks.add_gradients(self._parameters.values())
        self._adam.step()
        violating = (distances.detach() < UNIT_THRESHOLD) != similar
        return {"loss": float(loss.detach()), **violation_rates(violating, similar)}

    def _loss_of_verdicts(self, rng: np.random.Generator) -> torch.Tensor:
        """Of a batch of the pairs that are known beside classes; 0 where there are none."""
        if self._verdicts is None:
            return torch.zeros((), device=self._ranks.device)
        batch = self._verdicts.batch(rng)
        similarities = self._similarities(batch.rows, rng)
        tensor = self._ranks.tensor
        distances = 2 - 2 * similarities[tensor(batch.pairs.left), tensor(batch.pairs.right)]
        return pair_cross_entropy(distances, tensor(batch.pairs.similar), UNIT_THRESHOLD, _SLOPE, _Q)

    def _similarities(self, rows: npt.NDArray[np.int64], rng: np.random.Generator) -> torch.Tensor:
        """Cosines (r, r) of these images, some of their features left out."""
        own = self._ranks.share(len(rows))
        x = self._ranks.tensor(self._standardised(rows[own]))
        embeddings = self._embed(with_dropout(x, self._settings.feature_dropout, rng, own, len(rows)))
        embeddings = self._ranks.gathered(embeddings, len(rows))
        return embeddings @ embeddings.T

    def _embed(self, x: torch.Tensor) -> torch.Tensor:
        own = self._parameters
        hidden = torch.relu(x @ own["units"] + own["unit_offset"])
        return normalize(hidden @ own["weights"].T + x @ self._direct + own["offset"])

    def metric(self) -> HellingerNetwork:
        own = {name: parameter.detach().cpu().numpy() for name, parameter in self._parameters.items()}
        # Products with the mean are sums of large terms that mostly cancel: float64, of what the model file will hold.
        units = (own["units"] / self._deviation[:, None]).astype(np.float32)
        direct = (self._direct.cpu().numpy() / self._deviation[:, None]).astype(np.float32)
        mean = self._mean.astype(np.float64)
        unit_offset = (own["unit_offset"] - mean @ units).astype(np.float32)
        offset = (own["offset"] - mean @ direct).astype(np.float32)
        return HellingerNetwork(units, unit_offset, own["weights"].copy(), direct, offset)

    def state(self) -> dict[str, npt.NDArray[np.float32]]:
        moments = {
            f"{name}.{moment}": self._adam.state[parameter][moment].cpu().numpy()
            for name, parameter in self._parameters.items()
            for moment in _MOMENTS
        }
        return {name: parameter.detach().cpu().numpy() for name, parameter in self._parameters.items()} | moments

    def restore(self, state: dict[str, npt.NDArray[np.float32]]) -> None:
        for name, parameter in self._parameters.items():
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(state[name]))
            self._adam.state[parameter] = {moment: self._ranks.tensor(state[f"{name}.{moment}"]) for moment in _MOMENTS}


def _directions(data: TrainingData, config: TrainConfig, deviation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Columns (D, d) of the discriminant for standardised roots, scaled so that embeddings have mean squared length 1.

    deviation: (D,), what the roots are divided by. Zeros where all images are the same, or beyond D columns.
    """
    key = config.d, config.seed
    if key not in data.starts:
        data.starts[key] = _discriminant_columns(data, config, deviation)
    return data.starts[key]


def _discriminant_columns(
    data: TrainingData, config: TrainConfig, deviation: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    feature_dim = data.histograms.shape[1]
    columns = np.zeros((feature_dim, config.d), np.float32)
    try:
        found, mean = discriminant_directions(
            data.histograms, data.single_labels, data.given_pairs, min(config.d, feature_dim), config.seed
        )
    except BadDataset:  # nothing to tell apart: the units may find what to do with the pairs all the same
        return columns
    lengths = _squared_lengths(data.histograms, found, mean)
    columns[:, : found.shape[1]] = found * deviation[:, None] / np.sqrt(lengths)
    return columns


def _squared_lengths(
    histograms: npt.NDArray[np.float32], directions: npt.NDArray[np.float64], mean: npt.NDArray[np.float64]
) -> float:
    """Mean squared length of the projections of the centred roots."""
    total = 0.0
    for rows in row_blocks(len(histograms)):
        projected = np.sqrt(histograms[rows]) @ directions - mean @ directions
        total += float(np.square(projected).sum())
    return total / len(histograms)


def _weight_decay(data: TrainingData, settings: Network) -> float:
    """That of the settings, for few pairs several times as much: up to 95 at the settings' own 6."""
    if not isinstance(data.known, PairIndices):
        return settings.weight_decay
    count = min(max(len(data.known), _FEWEST_PAIRS), _MANY_PAIRS)
    more: float = (_MANY_PAIRS / count) ** _DECAY_POWER
    return min(settings.weight_decay * more, 1 / settings.learning_rate)


def _start(feature_dim: int, hidden: int, d: int, rng: np.random.Generator) -> dict[str, npt.NDArray[np.float32]]:
    """Units are drawn evenly within 1 / sqrt(D), as is usual for such layers; they add nothing yet."""
    bound = np.float32(feature_dim**-0.5)
    return {
        "units": bound * rng.uniform(-1, 1, (feature_dim, hidden)).astype(np.float32),
        "unit_offset": bound * rng.uniform(-1, 1, hidden).astype(np.float32),
        "weights": np.zeros((d, hidden), np.float32),
        "offset": np.zeros(d, np.float32),
    }
