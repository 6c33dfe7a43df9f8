"""What is to change in a vector index that has no part in the database's transactions."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.records import ImageFilter, PendingChanges, RecentChanges

__all__ = ["IndexChanges"]

Seqs = npt.NDArray[np.int64]


class IndexChanges(Protocol):
    """Changes of the index, written in the transaction of the change itself and kept until every search sees them.

    Their numbers grow in the order in which they are committed.
    """

    def put(self, model_version: str, seqs: Seqs, embeddings: npt.NDArray[np.float32]) -> None:
        """Embeddings (n, d) of images (n,), each once, by one model; images that are gone are left out."""

    def remove(self, seqs: Seqs) -> None:
        """Images that are to leave the index of every model."""

    def fields_changed(self, seqs: Seqs) -> None:
        """Images whose category or metadata changed."""

    def recent(
        self, model_version: str, embedding_dim: int, *, after: int, where: ImageFilter | None = None
    ) -> RecentChanges:
        """Those of one model, and of all, that are kept, applied or not, with a number above `after`.

        where: what `changed` and `matching` are about, whatever number the changes have; None: there are none.
        """

    def pending(self, limit: int) -> PendingChanges | None:
        """At most `limit` of those that are not applied, oldest first, of all models; None: there are none."""

    def applied(self, last: int) -> int:
        """Say that the index has all changes up to that number; returns how many it does not have yet."""

    def purge(self) -> None:
        """Keep those no more that the index has had for so long that every search of it sees them."""

    def unapplied(self, model_version: str) -> int:
        """How many puts of one model the index does not have yet."""

    def forget(self, model_version: str) -> None:
        """Keep no changes of one model."""

    def extent(self) -> tuple[int, int]:
        """The smallest and the greatest seq that images have; (0, -1) if there are none."""
