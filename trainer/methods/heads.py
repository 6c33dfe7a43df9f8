"""Heads on frozen features, trained with losses of deep metric learning: what a practitioner would use today.

A head is a linear layer, or two with a ReLU between them, and its embeddings have unit length. The losses are those
of pytorch-metric-learning (Musgrave, Belongie and Lim, 2020), an optional dependency.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch.nn.functional import normalize

from embedding.metric import l2_normalised
from trainer.errors import BadConfig
from trainer.methods.method import Distance, FloatMatrix, TrainingSet
from trainer.progress import cosine
from trainer.sampling import Batch, BatchSampler, ClassBatches, Labels, PairBatches, PairIndices, generator
from trainer.standardised import spread, with_dropout
from trainer.threads import one_thread

__all__ = ["FittedHead", "Head", "Kind", "Layer", "LossName"]

Kind = Literal["linear", "mlp"]
LossName = Literal["contrastive", "multi-similarity", "supcon", "proxy-anchor", "arcface"]

_HIDDEN_DIM = 512
_STEPS = 600
_IMAGES_PER_BATCH = 256
_CLASSES_PER_BATCH = 16
_PAIRS_PER_BATCH = 256  # where pairs are given: half of them similar
_ADAM_BETAS = (0.9, 0.99)  # the second one shorter than usual: a fit has a few hundred steps


@dataclass(frozen=True)
class _Settings:
    """How one head is trained. Chosen on validation data held out of the training split."""

    learning_rate: float
    weight_decay: float  # of the layers, not of the proxies
    feature_dropout: float
    loss: dict[str, float]  # the arguments of its class in pytorch-metric-learning
    proxy_rate: float = 1.0  # learning rate of the proxies, as a multiple of that of the layers


_SETTINGS: dict[tuple[Kind, LossName], _Settings] = {
    ("linear", "contrastive"): _Settings(0.01, 1.0, 0.5, {"pos_margin": 0.0, "neg_margin": 1.2}),
    ("linear", "multi-similarity"): _Settings(0.01, 1.0, 0.5, {"alpha": 1, "beta": 10, "base": 0.3}),
    ("linear", "supcon"): _Settings(0.01, 1.0, 0.25, {"temperature": 0.2}),
    ("linear", "proxy-anchor"): _Settings(0.01, 1.0, 0.5, {"margin": 0.2, "alpha": 4}, proxy_rate=100),
    ("linear", "arcface"): _Settings(0.01, 0.3, 0.5, {"margin": 28.6, "scale": 4}, proxy_rate=30),
    ("mlp", "contrastive"): _Settings(0.002, 3.0, 0.5, {"pos_margin": 0.1, "neg_margin": 1.2}),
    ("mlp", "multi-similarity"): _Settings(0.001, 6.0, 0.5, {"alpha": 1, "beta": 10, "base": 0.3}),
    ("mlp", "supcon"): _Settings(0.001, 6.0, 0.5, {"temperature": 0.3}),
    ("mlp", "proxy-anchor"): _Settings(0.002, 3.0, 0.5, {"margin": 0.6, "alpha": 4}, proxy_rate=30),
    ("mlp", "arcface"): _Settings(0.002, 3.0, 0.5, {"margin": 28.6, "scale": 4}, proxy_rate=30),  # margin in degrees
}
_CLASS_OF: dict[LossName, str] = {
    "contrastive": "ContrastiveLoss",
    "multi-similarity": "MultiSimilarityLoss",
    "supcon": "SupConLoss",
    "proxy-anchor": "ProxyAnchorLoss",
    "arcface": "ArcFaceLoss",
}
_WITH_PROXIES = ("proxy-anchor", "arcface")


@dataclass(frozen=True)
class Layer:
    """x -> W x + offset."""

    weights: FloatMatrix  # (outputs, inputs)
    offset: FloatMatrix  # (outputs,)


@dataclass(frozen=True)
class FittedHead:
    """phi(x) = z / |z|, z = W x + offset, or that of ReLU(V x + other offset); x is l2-normalised."""

    layers: tuple[Layer, ...]

    @property
    def distance(self) -> Distance:
        return "l2"

    @property
    def embedding_dim(self) -> int:
        return len(self.layers[-1].offset)

    @property
    def parameters(self) -> int:
        return sum(layer.weights.size + layer.offset.size for layer in self.layers)

    def embed(self, features: FloatMatrix) -> FloatMatrix:
        """Features (n, D), not normalised -> embeddings (n, d) of unit length."""
        first, *others = self.layers
        x = l2_normalised(features) @ first.weights.T + first.offset
        for layer in others:
            x = np.maximum(x, 0) @ layer.weights.T + layer.offset
        return l2_normalised(x)


@dataclass(frozen=True)
class Head:
    """A method: a linear map D -> d or a perceptron D -> 512 -> d, trained with the named loss.

    Sources: contrastive, Hadsell, Chopra and LeCun, CVPR 2006; multi-similarity, Wang et al., CVPR 2019; supcon, Khosla
    et al., NeurIPS 2020; proxy-anchor, Kim et al., CVPR 2020; arcface, Deng et al., CVPR 2019.
    """

    kind: Kind
    loss: LossName
    steps: int | None = None  # None: as many as tables and the decision record have

    def fit(self, data: TrainingSet, d: int, seed: int) -> FittedHead:
        """Train on the images that have one class each, the contrastive loss also on given pairs; the same seed gives
        the same layers, bit for bit.

        Raises: BadConfig (pytorch-metric-learning is not installed), BadDataset (fewer than two classes, or pairs for
        another loss).
        """
        known: Labels | PairIndices
        if isinstance(data.known, PairIndices) and self.loss == "contrastive":
            features, known = data.features, data.known
        else:
            features, labels = data.single_labelled()
            known = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        with one_thread(), _own_randomness(seed, self._phase):
            return self._train(l2_normalised(features), known, d, seed)

    @property
    def _phase(self) -> str:
        return f"head {self.kind} {self.loss}"

    def _train(self, features: FloatMatrix, known: Labels | PairIndices, d: int, seed: int) -> FittedHead:
        settings = _SETTINGS[self.kind, self.loss]
        mean, deviation = spread(features)
        classes = np.zeros(len(features), np.int64) if isinstance(known, PairIndices) else known  # pairs: not looked at
        x, y = torch.from_numpy((features - mean) / deviation), torch.from_numpy(classes)
        network = _network(self.kind, features.shape[1], d)
        count = int(classes.max()) + 1
        criterion = _Criterion(self.loss, settings.loss, count, d)
        adam = _optimiser(network, criterion.proxies, settings)
        sampler = self._sampler(known)
        steps = self.steps or _STEPS
        for step in range(steps):
            rng = generator(seed, self._phase, step)
            batch = sampler.batch(rng)
            rows = torch.from_numpy(batch.rows)
            seen = with_dropout(x.index_select(0, rows), settings.feature_dropout, rng)
            loss = criterion(normalize(network(seen)), y.index_select(0, rows), batch)
            _set_rates(adam, step / steps)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
        return _fitted(network, mean, deviation)

    def _sampler(self, known: Labels | PairIndices) -> BatchSampler:
        if isinstance(known, PairIndices):
            return PairBatches(known, _PAIRS_PER_BATCH)
        classes_per_batch = min(_CLASSES_PER_BATCH, int(known.max()) + 1)
        return ClassBatches(known, classes_per_batch, _IMAGES_PER_BATCH // classes_per_batch)


class _Criterion:
    """A loss of pytorch-metric-learning, over all pairs of a batch or over images and proxies."""

    def __init__(self, name: LossName, arguments: dict[str, float], classes: int, d: int):
        loss = getattr(_losses(), _CLASS_OF[name])
        self._loss = loss(classes, d, **arguments) if name in _WITH_PROXIES else loss(**arguments)
        self._each_pair_once = name == "contrastive"  # its pairs count alike: both directions would only take longer
        self.proxies: list[torch.nn.Parameter] = list(self._loss.parameters())

    def __call__(self, embeddings: torch.Tensor, classes: torch.Tensor, batch: Batch) -> torch.Tensor:
        loss: torch.Tensor = self._loss(embeddings, classes, _ends(batch) if self._each_pair_once else None)
        return loss


def _losses() -> Any:
    """The module of losses, imported late: the package is optional, and slow to import."""
    try:
        from pytorch_metric_learning import losses
    except ImportError as error:
        raise BadConfig(
            "Heads need pytorch-metric-learning, which is not installed: pip install 'samekind[compare]'."
        ) from error
    return losses


def _ends(batch: Batch) -> tuple[torch.Tensor, ...]:
    """Ends of the similar pairs and ends of the dissimilar ones, each pair once, as pytorch-metric-learning wants."""
    pairs, similar = batch.pairs, batch.pairs.similar
    ends = (pairs.left[similar], pairs.right[similar], pairs.left[~similar], pairs.right[~similar])
    return tuple(torch.from_numpy(end) for end in ends)


def _network(kind: Kind, feature_dim: int, d: int) -> torch.nn.Sequential:
    if kind == "linear":
        return torch.nn.Sequential(torch.nn.Linear(feature_dim, d))
    hidden = torch.nn.Linear(feature_dim, _HIDDEN_DIM)
    return torch.nn.Sequential(hidden, torch.nn.ReLU(), torch.nn.Linear(_HIDDEN_DIM, d))


def _optimiser(
    network: torch.nn.Module, proxies: Iterable[torch.nn.Parameter], settings: _Settings
) -> torch.optim.Optimizer:
    """AdamW; each group keeps the rate that it starts with as "initial_lr", as torch's own schedules do."""
    rate = settings.learning_rate
    groups = [{"params": list(network.parameters()), "lr": rate, "weight_decay": settings.weight_decay}]
    if proxies := list(proxies):
        groups.append({"params": proxies, "lr": rate * settings.proxy_rate, "weight_decay": 0.0})
    return torch.optim.AdamW([group | {"initial_lr": group["lr"]} for group in groups], betas=_ADAM_BETAS, fused=True)


def _set_rates(optimiser: torch.optim.Optimizer, progress: float) -> None:
    """Cosine from the initial rates to 0. progress: 0 to 1."""
    share = cosine(progress)
    for group in optimiser.param_groups:
        group["lr"] = group["initial_lr"] * share


def _fitted(network: torch.nn.Sequential, mean: FloatMatrix, deviation: FloatMatrix) -> FittedHead:
    """The network as numbers, with the standardisation of its input made part of its first layer."""
    linear = [module for module in network if isinstance(module, torch.nn.Linear)]
    (weights, offset), *others = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear]
    folded = (weights / deviation).astype(np.float32)
    first = Layer(folded, (offset - folded @ mean).astype(np.float32))
    return FittedHead((first, *(Layer(*other) for other in others)))


@contextmanager
def _own_randomness(seed: int, phase: str) -> Iterator[None]:
    """What torch draws for initial weights and proxies comes from the seed; its global state is as before afterwards.

    Only the CPU's generator is touched: torch.manual_seed would set those of other devices too.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(generator(seed, phase + " start", 0).integers(2**63)))
        yield
