"""Nearest neighbours among embeddings, derived from the database."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.records import (
    Approximation,
    Hit,
    ImageFilter,
    IndexRows,
    NearDuplicate,
)

__all__ = ["Among", "MemoryIndex", "NewIndex", "SharedIndexes", "Snapshots", "VectorIndex"]

Among = npt.NDArray[np.int64] | ImageFilter  # what is searched: these ids, or the images that a filter lets through


class VectorIndex(Protocol):
    """Nearest neighbours among embeddings of one model. It is derived: the database can always rebuild it.

    Searches are exact, unless `approximation` says otherwise. Where it lies outside of the process, changes are part of
    the transaction in which they are made, every replica finds at once what was committed, and every method may raise
    StoreUnavailable.
    """

    @property
    def model_version(self) -> str:
        """The model that its embeddings come from; a search by any other is refused."""

    @property
    def embedding_dim(self) -> int: ...

    @property
    def filters(self) -> bool:
        """Whether it knows what filters ask for, so that a search may be among an ImageFilter."""

    def __len__(self) -> int: ...

    def add(self, ids: npt.NDArray[np.int64], embeddings: npt.NDArray[np.float32]) -> None:
        """Add embeddings (n, d) under ids (n,), each at most once in a call; an id that is there is replaced.

        An index outside of the process passes over ids of images that are gone.
        """

    def remove(self, ids: npt.NDArray[np.int64]) -> int:
        """Forget those ids; returns how many of them were there, or may have been."""

    def arrange(self) -> None:
        """Order what was added so that searches are fast, where that is worth it.

        May take minutes. Meanwhile searches and changes go on as before; none waits longer than for a change.
        """

    @property
    def approximation(self) -> Approximation | None:
        """How searches among all are approximated; None: they are exact."""

    def ids(self) -> npt.NDArray[np.int64]:
        """A copy of its ids (n,), in no order."""

    def sample(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Ids of that many drawn at random, in random order, or of all if there are no more; each once."""

    def sample_rows(
        self, count: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """The same ids (n,), with a copy of their embeddings (n, d)."""

    def search(self, embedding: npt.NDArray[np.float32], k: int, among: Among | None = None) -> list[Hit]:
        """The k nearest to an embedding (d,), nearest first, equal distances in the order of their ids.

        among: only these ids (n,), as far as they are there; a filter only where `filters`; None for all.

        Where there is an `approximation`, a search among all may miss a few of them; among some it never does.
        Distances are sum_t (x_t - y_t)^2 in float64, so that a picture is at exactly 0.0 from its copy. Fewer than k
        only if there are fewer to search among.
        """

    def ping(self) -> None:
        """Raises: StoreUnavailable if it cannot be searched now."""


class MemoryIndex(VectorIndex, Protocol):
    """One that lies in this process."""

    def rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """A copy of its ids (n,) and embeddings (n, d)."""

    def near_duplicates(self, max_squared_distance: float) -> Iterator[NearDuplicate]:
        """Every two ids at most that far apart, each two once, exact like a search; in the order of left, right.

        Takes time in n^2. What is added or removed meanwhile may be missing.
        """


class NewIndex(Protocol):
    """Makes an index: an empty one in memory, or the one of that model that replicas share, with what it holds."""

    def __call__(self, embedding_dim: int, model_version: str, /) -> VectorIndex: ...


class SharedIndexes(NewIndex, Protocol):
    """The indexes that lie outside of the processes, one for each model that is or was to be searched with."""

    def removed(self, ids: npt.NDArray[np.int64]) -> None:
        """Those images are deleted: they leave every index, in the transaction of the deletion."""

    def fields_changed(self, ids: npt.NDArray[np.int64]) -> None:
        """Category or metadata of those images changed; likewise."""

    def versions(self) -> list[str]:
        """The models that there is one of."""

    def drop(self, model_version: str) -> None:
        """Remove one; does nothing if it is not there. Who still searches it gets an error."""

    def point_to(self, model_version: str) -> None:
        """Let other programs find the index of the active model; does nothing where that is so."""

    def feed(self) -> int:
        """Bring committed changes to where searches look, some thousands at once; how many were left to be brought."""


class Snapshots(Protocol):
    """What an index held, kept so that a start need not embed everything again. Never trusted without a comparison."""

    def read(self, model_version: str, embedding_dim: int) -> IndexRows | None:
        """The rows that were saved for that model, if there are any. Raises: DamagedSnapshot."""

    def save(self, model_version: str, rows: IndexRows) -> None:
        """Replace what was saved, for whichever model. Raises: StoreUnavailable; then the former may be there still."""

    def discard(self) -> None:
        """Forget what was saved."""
