"""The settings of one training run. Checked when built, written to the run folder, compared on resume."""

from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any, Literal

from trainer.errors import BadConfig

__all__ = ["Initialisation", "MiniBatch", "OnePair", "TrainConfig"]

Initialisation = Literal["data-scaled", "paper"]


# Beyond the features' own D an embedding saves nothing; this only keeps a slip of the finger out of memory.
_MAX_D = 4096

# The kernel is bounded, so that even absurd rates give finite results; beyond this float32 overflows.
_MAX_LEARNING_RATE = 1e6


@dataclass(frozen=True)
class MiniBatch:
    """Adam on all pairs within a batch. Values chosen on validation splits (docs/decisions/0004)."""

    steps: int = 1000
    learning_rate: float = 0.3  # in units of 1/D, the scale of l1-normalised features
    m: float = 0.05  # margin around b, in squared distance
    feature_dropout: float = 0.4  # share of the D features left out of a step; what keeps 500 images from overfitting
    classes_per_batch: int = 16
    images_per_class: int = 8
    pairs_per_batch: int = 1024  # with explicit pairs: half similar, half dissimilar
    name: Literal["mini-batch"] = "mini-batch"

    def __post_init__(self) -> None:
        _require(self.steps >= 1, "steps", self.steps, "at least 1")
        _check_rate(self.learning_rate)
        _require(self.m >= 0, "m", self.m, "0 or greater")
        _require(0 <= self.feature_dropout < 1, "feature_dropout", self.feature_dropout, "in [0, 1)")
        _require(self.classes_per_batch >= 2, "classes_per_batch", self.classes_per_batch, "at least 2")
        _require(self.images_per_class >= 2, "images_per_class", self.images_per_class, "at least 2")
        _require(self.pairs_per_batch >= 2, "pairs_per_batch", self.pairs_per_batch, "at least 2")


@dataclass(frozen=True)
class OnePair:
    """The paper's SGD of one pair an iteration. Source: Sharma and Schiele, ICCV 2015, Algorithm 1."""

    steps: int = 1_000_000  # iterations
    learning_rate: float = 1e-3  # r; the factor 2 of the gradient is folded into it
    m: float = 0.02  # the paper's margin for NML
    pairs: int = 500_000  # drawn from the labels, half of them similar
    name: Literal["one-pair"] = "one-pair"

    def __post_init__(self) -> None:
        _require(self.steps >= 1, "steps", self.steps, "at least 1")
        _check_rate(self.learning_rate)
        _require(self.m >= 0, "m", self.m, "0 or greater")
        _require(self.pairs >= 2, "pairs", self.pairs, "at least 2")


@dataclass(frozen=True)
class TrainConfig:
    """One run of NML."""

    d: int = 16  # embedding dimensions; 4 d bytes a picture in the index
    b: float = 0.1  # the threshold on squared distance, fixed as in the paper's experiments
    optimiser: MiniBatch | OnePair = field(default_factory=MiniBatch)
    # "data-scaled" draws L from U(-s, s) with s = 1/D; "paper" from U(-0.5, 0.5), where the kernel is almost linear
    initialisation: Initialisation = "data-scaled"
    validation_fraction: float = 0.2  # of the images; they are held out of the first fit and measured on
    test_fraction: float = 0.0  # of the images of a source without splits; kept out of everything, for `evaluate`
    seed: int = 0

    def __post_init__(self) -> None:
        _require(1 <= self.d <= _MAX_D, "d", self.d, f"at least 1 and at most {_MAX_D}")
        _require(0 < self.b < inf, "b", self.b, "greater than 0 and finite")
        kinds = ("data-scaled", "paper")
        _require(self.initialisation in kinds, "initialisation", self.initialisation, "data-scaled or paper")
        m = self.optimiser.m  # similar pairs are asked to be closer than b - m
        _require(m < self.b, "m", m, f"less than b = {self.b}")
        _require(0 <= self.validation_fraction <= 0.5, "validation_fraction", self.validation_fraction, "in [0, 0.5]")
        _require(0 <= self.test_fraction <= 0.9, "test_fraction", self.test_fraction, "in [0, 0.9]")
        _require(self.seed >= 0, "seed", self.seed, "0 or greater")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _check_rate(learning_rate: float) -> None:
    holds = 0 < learning_rate <= _MAX_LEARNING_RATE
    _require(holds, "learning_rate", learning_rate, f"greater than 0 and at most {_MAX_LEARNING_RATE:g}")


def _require(holds: bool, name: str, value: object, allowed: str) -> None:
    if not holds:
        raise BadConfig(f"{name} must be {allowed}, got {value}.")
