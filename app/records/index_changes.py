"""What is to change in a vector index that has no part in the database's transactions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.records.images import Fields

__all__ = ["ChangeKind", "IndexChange", "PendingChanges", "RecentChanges"]

# An embedding came or was replaced; the image goes out of every index; its category or metadata changed.
ChangeKind = Literal["put", "remove", "fields"]


@dataclass(frozen=True)
class IndexChange:
    """One change of one image."""

    kind: ChangeKind
    seq: int  # of the image
    model_version: str | None  # whose index; None: all
    embedding: npt.NDArray[np.float32] | None  # (d,); of a put


@dataclass(frozen=True)
class PendingChanges:
    """Changes that the index does not have yet, oldest first, and what there is in the database now."""

    changes: Sequence[IndexChange]
    last: int  # number of the last one
    fields: Mapping[int, Fields]  # by seq, of those of the images that still are there


@dataclass(frozen=True)
class RecentChanges:
    """Puts and removals by their numbers, oldest first, as one state of the database."""

    oldest: int  # the smallest number that is kept, of whichever model: what is below it every search sees
    newest: int  # the greatest one that there was
    numbers: npt.NDArray[np.int64]  # (n,)
    seqs: npt.NDArray[np.int64]  # (n,)
    is_put: npt.NDArray[np.bool_]  # (n,); the others are removals
    embeddings: npt.NDArray[np.float32]  # (n, d); of removals 0
    changed: npt.NDArray[np.int64] | None  # where a filter was given: seqs of images with any kept change, each once
    matching: npt.NDArray[np.int64] | None  # and those of them that it lets through
    is_committed: bool  # False: read within a transaction that has written, and may yet be undone
