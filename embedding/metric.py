"""Learned metrics: features -> an embedding whose squared L2 distance is the learned squared distance.

A metric holds its own normalisation, so that nobody can forget it: l1 for the chi2 kernel (histograms), l2 for the
linear ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from embedding import _kernel_cpu, _rows_cpu
from embedding.errors import BadFeatures

__all__ = [
    "Chi2Metric",
    "FloatMatrix",
    "LinearMetric",
    "Metric",
    "Normalisation",
    "check_features",
    "check_parameters",
    "embed_in_blocks",
    "l1_normalised",
    "l2_normalised",
    "parameters_of",
    "row_blocks",
]

FloatMatrix = npt.NDArray[np.float32]
Normalisation = Literal["l1", "l2"]

# Rows that are embedded at once: bounds the normalised copy of the features (20 MB at D = 1280).
_BLOCK_ROWS = 4096


class Metric(Protocol):
    """A fitted embedding."""

    kernel: ClassVar[str]
    normalisation: ClassVar[Normalisation]

    @property
    def feature_dim(self) -> int:
        """D."""

    @property
    def embedding_dim(self) -> int:
        """d."""

    def embed(self, features: npt.ArrayLike) -> FloatMatrix:
        """Features (n, D), non-negative and not normalised -> embeddings (n, d), contiguous float32.

        A row's result does not depend on the rows beside it. Raises: BadFeatures.
        """


@dataclass(frozen=True)
class Chi2Metric:
    """NML: phi(x) = [k(l_1, x), ..., k(l_d, x)] with the shifted chi2 kernel, x l1-normalised.

    Source: Sharma and Schiele, ICCV 2015.
    """

    landmarks: FloatMatrix  # (d, D), the rows l_t of L

    def __post_init__(self) -> None:
        check_parameters("landmarks", self.landmarks, dimensions=2)

    kernel: ClassVar[str] = "shifted-chi2"
    normalisation: ClassVar[Normalisation] = "l1"

    @property
    def feature_dim(self) -> int:
        return int(self.landmarks.shape[1])

    @property
    def embedding_dim(self) -> int:
        return int(self.landmarks.shape[0])

    def embed(self, features: npt.ArrayLike) -> FloatMatrix:
        landmarks = np.ascontiguousarray(self.landmarks)
        return embed_in_blocks(self, features, lambda block: _kernel_cpu.kernel(l1_normalised(block), landmarks))


@dataclass(frozen=True)
class LinearMetric:
    """A projection: phi(x) = W x + offset, x l2-normalised. PCA and the linear baselines take this form.

    The offset cancels in distances; it centres the embedding, which keeps them accurate in float32.
    """

    weights: FloatMatrix  # (d, D)
    offset: FloatMatrix  # (d,)

    def __post_init__(self) -> None:
        check_parameters("weights", self.weights, dimensions=2)
        check_parameters("offset", self.offset, dimensions=1)
        if len(self.offset) != len(self.weights):
            raise ValueError(f"offset has {len(self.offset)} values for {len(self.weights)} rows of weights")

    kernel: ClassVar[str] = "linear"
    normalisation: ClassVar[Normalisation] = "l2"

    @property
    def feature_dim(self) -> int:
        return int(self.weights.shape[1])

    @property
    def embedding_dim(self) -> int:
        return int(self.weights.shape[0])

    def embed(self, features: npt.ArrayLike) -> FloatMatrix:
        def projection(block: FloatMatrix) -> FloatMatrix:
            # einsum, not BLAS: a matrix product there rounds differently for one row than for many
            values: FloatMatrix = np.einsum("nc,tc->nt", l2_normalised(block), self.weights) + self.offset
            return values

        return embed_in_blocks(self, features, projection)


def embed_in_blocks(
    metric: Metric, features: npt.ArrayLike, embed: Callable[[FloatMatrix], FloatMatrix]
) -> FloatMatrix:
    """What every metric's `embed` does: check the features, embed them a block at a time.

    embed: features of a block (r, D), checked and not normalised -> (r, d). Raises: BadFeatures.
    """
    checked = check_features(features, metric.feature_dim)
    embeddings = np.empty((len(checked), metric.embedding_dim), np.float32)
    for rows in row_blocks(len(checked)):
        embeddings[rows] = embed(checked[rows])
    return embeddings


def parameters_of(metric: Metric) -> dict[str, FloatMatrix]:
    """The arrays that a metric consists of, by name: those that it is made from."""
    values = {part.name: getattr(metric, part.name) for part in fields(metric)}  # type: ignore[arg-type] # all are dataclasses
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def check_features(features: npt.ArrayLike, feature_dim: int) -> FloatMatrix:
    """Return features as float32 of shape (n, D), or say what is wrong with them.

    Raises: BadFeatures (not two-dimensional, another D, NaN or infinite, negative), naming the first bad row.
    """
    given = np.asarray(features)
    known_good = _rows_cpu.widened(given) if given.dtype == np.float16 else None
    matrix = np.asarray(given, np.float32) if known_good is None else known_good
    if matrix.ndim != 2 or matrix.shape[1] != feature_dim:
        raise BadFeatures(f"Features must be of shape (n, D) with D = {feature_dim}, got {matrix.shape}.")
    if known_good is not None:
        return matrix
    for bad, what in ((~np.isfinite(matrix), "NaN or infinite"), (matrix < 0, "negative")):
        if bad.any():
            row, column = map(int, np.argwhere(bad)[0])
            raise BadFeatures(
                f"Features must be finite and not negative: row {row}, column {column} is {matrix[row, column]} "
                f"({int(bad.sum())} {what} values in all)."
            )
    return matrix


def l1_normalised(features: FloatMatrix) -> FloatMatrix:
    """Rows divided by the sum of their magnitudes; a row of zeros stays as it is. Shape (n, D) in and out."""
    return _rows_cpu.divided_by_l1(features)


def l2_normalised(features: FloatMatrix) -> FloatMatrix:
    """Rows divided by their Euclidean length; a row of zeros stays as it is. Shape (n, D) in and out."""
    return _rows_cpu.divided_by_l2(features)


def check_parameters(name: str, values: FloatMatrix, dimensions: int) -> None:
    """Raises: ValueError unless values are float32 of so many dimensions, some and all finite."""
    if values.ndim != dimensions or values.dtype != np.float32 or values.size == 0:
        raise ValueError(f"{name} must be float32 with {dimensions} dimensions, got {values.dtype} {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} hold {int((~np.isfinite(values)).sum())} values that are NaN or infinite")


def row_blocks(n: int) -> list[slice]:
    """n rows, cut so that a block's normalised copy stays small."""
    return [slice(start, min(n, start + _BLOCK_ROWS)) for start in range(0, n, _BLOCK_ROWS)]
