"""Nearest neighbours among embeddings, derived from the database."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.records import (
    Approximation,
    Hit,
    IndexRows,
    NearDuplicate,
)

__all__ = ["NewIndex", "Snapshots", "VectorIndex"]


class VectorIndex(Protocol):
    """Nearest neighbours among embeddings of one model. It is derived: the database can always rebuild it.

    Searches are exact, unless `approximation` says otherwise.
    """

    @property
    def model_version(self) -> str:
        """The model that its embeddings come from; a search by any other is refused."""

    @property
    def embedding_dim(self) -> int: ...

    def __len__(self) -> int: ...

    def add(self, ids: npt.NDArray[np.int64], embeddings: npt.NDArray[np.float32]) -> None:
        """Add embeddings (n, d) under ids (n,), each at most once in a call; an id that is there is replaced."""

    def remove(self, ids: npt.NDArray[np.int64]) -> int:
        """Forget those ids; returns how many of them were there."""

    def arrange(self) -> None:
        """Order what was added so that searches are fast, where that is worth it.

        May take minutes. Meanwhile searches and changes go on as before; none waits longer than for a change.
        """

    @property
    def approximation(self) -> Approximation | None:
        """How searches among all are approximated; None: they are exact."""

    def rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """A copy of its ids (n,) and embeddings (n, d)."""

    def sample(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Ids of that many drawn at random, in random order, or of all if there are no more; each once."""

    def sample_rows(
        self, count: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """The same ids (n,), with a copy of their embeddings (n, d)."""

    def search(
        self, embedding: npt.NDArray[np.float32], k: int, among: npt.NDArray[np.int64] | None = None
    ) -> list[Hit]:
        """The k nearest to an embedding (d,), nearest first, equal distances in the order of their ids.

        among: only these ids (n,), as far as they are there; None for all.

        Where there is an `approximation`, a search among all may miss a few of them; among some it never does.
        Distances are sum_t (x_t - y_t)^2 in float64, so that a picture is at exactly 0.0 from its copy. Fewer than k
        only if there are fewer to search among.
        """

    def near_duplicates(self, max_squared_distance: float) -> Iterator[NearDuplicate]:
        """Every two ids at most that far apart, each two once, exact like a search; in the order of left, right.

        Takes time in n^2. What is added or removed meanwhile may be missing.
        """


class NewIndex(Protocol):
    """Makes an empty index."""

    def __call__(self, embedding_dim: int, model_version: str) -> VectorIndex: ...


class Snapshots(Protocol):
    """What an index held, kept so that a start need not embed everything again. Never trusted without a comparison."""

    def read(self, model_version: str, embedding_dim: int) -> IndexRows | None:
        """The rows that were saved for that model, if there are any. Raises: DamagedSnapshot."""

    def save(self, model_version: str, rows: IndexRows) -> None:
        """Replace what was saved, for whichever model. Raises: StoreUnavailable; then the former may be there still."""

    def discard(self) -> None:
        """Forget what was saved."""
