"""The settings of one training run. Checked when built, written to the run folder, compared on resume."""

from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any, Literal

from trainer.errors import BadConfig

__all__ = [
    "TIME_BUDGET_S",
    "UNIT_THRESHOLD",
    "Initialisation",
    "Method",
    "MiniBatch",
    "Network",
    "OnePair",
    "TrainConfig",
]

Initialisation = Literal["data-scaled", "paper"]
Method = Literal["nml-deep", "pair-discriminant", "nml"]


# For trying other members of the family than the one that the size of the data suggests.
TIME_BUDGET_S = 120.0

# Beyond the features' own D an embedding saves nothing; this only keeps a slip of the finger out of memory.
_MAX_D = 4096

# Between unit vectors at 60 degrees: where deep NML parts the kinds before a calibration says better.
UNIT_THRESHOLD = 1.0

# The kernel is bounded, so that even absurd rates give finite results; beyond this float32 overflows.
_MAX_LEARNING_RATE = 1e6


@dataclass(frozen=True)
class Network:
    """Deep NML by AdamW: Hellinger units, then a linear layer, then unit length. Values chosen on validation splits
    (docs/decisions/0009).
    """

    hidden_units: int = 512
    steps: int = 600
    learning_rate: float = 0.001
    weight_decay: float = 6.0  # times the learning rate is what a step takes from each parameter
    feature_dropout: float = 0.5  # share of each image's features left out of a step
    temperature: float = 0.3  # of the supervised contrastive loss, for classes
    classes_per_batch: int = 16
    images_per_class: int = 16
    pairs_per_batch: int = 256  # with explicit pairs: half similar, half dissimilar
    name: Literal["network"] = "network"

    def __post_init__(self) -> None:
        _require(1 <= self.hidden_units <= _MAX_D, "hidden_units", self.hidden_units, f"in [1, {_MAX_D}]")
        _check_steps(self)
        _require(0 <= self.weight_decay < inf, "weight_decay", self.weight_decay, "0 or greater and finite")
        # Beyond this a step would turn the signs of all parameters.
        greatest = 1 / self.weight_decay if self.weight_decay else inf
        _require(
            self.learning_rate <= greatest,
            "learning_rate",
            self.learning_rate,
            f"at most 1 / weight_decay = {greatest:.3g}",
        )
        _require(0 < self.temperature < inf, "temperature", self.temperature, "greater than 0 and finite")
        _check_batches(self)


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
        _check_steps(self)
        _require(self.m >= 0, "m", self.m, "0 or greater")
        _check_batches(self)


@dataclass(frozen=True)
class OnePair:
    """The paper's SGD of one pair an iteration. Source: Sharma and Schiele, ICCV 2015, Algorithm 1."""

    steps: int = 1_000_000  # iterations
    learning_rate: float = 1e-3  # r; the factor 2 of the gradient is folded into it
    m: float = 0.02  # the paper's margin for NML
    pairs: int = 500_000  # drawn from the labels, half of them similar
    name: Literal["one-pair"] = "one-pair"

    def __post_init__(self) -> None:
        _check_steps(self)
        _require(self.m >= 0, "m", self.m, "0 or greater")
        _require(self.pairs >= 2, "pairs", self.pairs, "at least 2")


@dataclass(frozen=True)
class TrainConfig:
    """One training run."""

    d: int = 16  # embedding dimensions; 4 d bytes a picture in the index
    optimiser: Network | MiniBatch | OnePair = field(default_factory=Network)
    b: float = 0.1  # NML: the threshold on squared distance, fixed as in the paper's experiments
    # NML: "data-scaled" draws L from U(-s, s), s = 1/D; "paper" from U(-0.5, 0.5), where the kernel is almost linear
    initialisation: Initialisation = "data-scaled"
    validation: bool = True  # whether parts are held out of first fits and measured on; without it: no calibration
    test_fraction: float = 0.0  # of the images of a source without splits; kept out of everything, for `evaluate`
    seed: int = 0
    # for trying other settings than a network's own on the held-out images; 0: it is learned as it is set
    time_budget_s: float = 0.0

    def __post_init__(self) -> None:
        _require(1 <= self.d <= _MAX_D, "d", self.d, f"at least 1 and at most {_MAX_D}")
        _require(0 < self.b < inf, "b", self.b, "greater than 0 and finite")
        kinds = ("data-scaled", "paper")
        _require(self.initialisation in kinds, "initialisation", self.initialisation, "data-scaled or paper")
        if not isinstance(self.optimiser, Network):
            m = self.optimiser.m  # similar pairs are asked to be closer than b - m
            _require(m < self.b, "m", m, f"less than b = {self.b}")
        _require(0 <= self.test_fraction <= 0.9, "test_fraction", self.test_fraction, "in [0, 0.9]")
        _require(self.seed >= 0, "seed", self.seed, "0 or greater")
        _require(0 <= self.time_budget_s < inf, "time_budget_s", self.time_budget_s, "0 or greater and finite")

    @property
    def method(self) -> Method:
        if not isinstance(self.optimiser, Network):
            return "nml"
        return "nml-deep" if self.optimiser.steps else "pair-discriminant"

    @property
    def threshold(self) -> float:
        """The squared distance below which images count as of the same kind where no calibration tells."""
        return UNIT_THRESHOLD if isinstance(self.optimiser, Network) else self.b

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, written: object) -> "TrainConfig":
        """From a manifest, which anybody may have written. Raises: BadConfig."""
        kinds = {"network": Network, "mini-batch": MiniBatch, "one-pair": OnePair}
        try:
            fields = dict(written)  # type: ignore[call-overload]
            optimiser = dict(fields.pop("optimiser"))
            return cls(optimiser=kinds[optimiser["name"]](**optimiser), **fields)
        except (KeyError, TypeError, ValueError) as error:
            raise BadConfig(f"These are no settings that this trainer knows: {written!r:.200}.") from error


def _check_steps(settings: Network | MiniBatch | OnePair) -> None:
    rate = settings.learning_rate
    least = 0 if isinstance(settings, Network) else 1
    _require(settings.steps >= least, "steps", settings.steps, f"at least {least}")
    _require(
        0 < rate <= _MAX_LEARNING_RATE, "learning_rate", rate, f"greater than 0 and at most {_MAX_LEARNING_RATE:g}"
    )


def _check_batches(settings: Network | MiniBatch) -> None:
    dropout = settings.feature_dropout
    _require(0 <= dropout < 1, "feature_dropout", dropout, "in [0, 1)")
    _require(settings.classes_per_batch >= 2, "classes_per_batch", settings.classes_per_batch, "at least 2")
    _require(settings.images_per_class >= 2, "images_per_class", settings.images_per_class, "at least 2")
    _require(settings.pairs_per_batch >= 2, "pairs_per_batch", settings.pairs_per_batch, "at least 2")


def _require(holds: bool, name: str, value: object, allowed: str) -> None:
    if not holds:
        raise BadConfig(f"{name} must be {allowed}, got {value}.")
