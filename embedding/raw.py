"""What can be searched with before anything was learned: the features themselves, l2-normalised."""

from dataclasses import dataclass
from typing import ClassVar

import numpy.typing as npt

from embedding.metric import FloatMatrix, Normalisation, embed_in_blocks, l2_normalised

__all__ = ["RawMetric"]


@dataclass(frozen=True)
class RawMetric:
    """phi(x) = x / |x|: d = D, and no parameters. Squared distances lie in [0, 2], 2 - 2 cos of the angle."""

    feature_dim: int  # D

    def __post_init__(self) -> None:
        if type(self.feature_dim) is not int or self.feature_dim < 1:
            raise ValueError(f"feature_dim must be a whole number from 1 on, got {self.feature_dim!r}")

    kernel: ClassVar[str] = "none"
    normalisation: ClassVar[Normalisation] = "l2"

    @property
    def embedding_dim(self) -> int:
        return self.feature_dim

    def embed(self, features: npt.ArrayLike) -> FloatMatrix:
        return embed_in_blocks(self, features, l2_normalised)
