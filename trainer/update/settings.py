"""What an update does, as far as that can be chosen."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from embedding.model_file import Model
from trainer.config import TIME_BUDGET_S, TrainConfig
from trainer.errors import BadConfig

__all__ = ["Mode", "UpdateSettings"]

Mode = Literal["auto", "full"]

_D, _MAX_D = 16, 4096


@dataclass(frozen=True)
class UpdateSettings:
    """The settings of one update; they go into its run folder and into the model file.

    Raises: BadConfig for a value that nothing can be learned with.
    """

    d: int | None = None  # embedding dimensions of a model that begins anew; None: those of the active one, else 16
    mode: Mode = "auto"  # full: learn although nothing is new
    seed: int = 0
    max_images: int = 200_000  # of a larger collection a sample of so many, and what verdicts name, is learned from
    time_budget_s: float = TIME_BUDGET_S  # for trying other members of the family than the one that the size suggests

    def __post_init__(self) -> None:
        if self.d is not None and not 1 <= self.d <= _MAX_D:
            raise BadConfig(f"d must be 1 to {_MAX_D}, got {self.d}.")
        if self.mode not in get_args(Mode):
            raise BadConfig(f"mode must be one of {', '.join(get_args(Mode))}, got {self.mode!r}.")
        if not 0 <= self.time_budget_s < math.inf:
            raise BadConfig(f"time_budget_s must be 0 or more and finite, got {self.time_budget_s}.")
        if self.seed < 0:
            raise BadConfig(f"seed must be 0 or more, got {self.seed}.")
        if self.max_images < 1:
            raise BadConfig(f"max_images must be at least 1, got {self.max_images}.")

    @property
    def dimensions(self) -> int:
        return _D if self.d is None else self.d

    def after(self, active: Model | None) -> "UpdateSettings":
        """With the d of the active model, unless another one is wanted."""
        if self.d is not None or active is None or not active.is_trained:
            return self
        return replace(self, d=active.metric.embedding_dim)

    def config(self) -> TrainConfig:
        """Of the learner."""
        return TrainConfig(d=self.dimensions, seed=self.seed, time_budget_s=self.time_budget_s)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
