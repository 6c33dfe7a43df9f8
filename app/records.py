"""What the service keeps and passes around: plain values without behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Counts",
    "Extraction",
    "FeatureBlock",
    "FeatureMatrix",
    "Hit",
    "ModelRecord",
    "NewImage",
    "QueryRecord",
    "RecordedPairs",
    "StoredImage",
]

FeatureMatrix = npt.NDArray[np.float16]


@dataclass(frozen=True)
class NewImage:
    """An image that is about to be stored."""

    id: str
    sha256: str  # of the file's bytes, 64 hexadecimal digits; also the name of its blob
    media_type: str
    width: int  # pixels, of the upright picture
    height: int
    byte_size: int
    category: str | None
    metadata: Mapping[str, Any]
    created: datetime


@dataclass(frozen=True)
class StoredImage(NewImage):
    """An image in the database. `seq` grows with every image and is never given twice; the index knows images by it."""

    seq: int


@dataclass(frozen=True)
class Extraction:
    """What an upload turned out to be."""

    features: FeatureMatrix  # (D,)
    width: int  # pixels, upright
    height: int


@dataclass(frozen=True)
class FeatureBlock:
    """Stored features of some images, in the order of seq."""

    seqs: npt.NDArray[np.int64]  # (n,)
    features: FeatureMatrix  # (n, D)


@dataclass(frozen=True)
class Hit:
    """One neighbour as the index knows it."""

    id: int
    squared_distance: float


@dataclass(frozen=True)
class QueryRecord:
    """An uploaded query that feedback may name until it expires."""

    id: str
    created: datetime
    expires: datetime


@dataclass(frozen=True)
class RecordedPairs:
    """What became of the verdicts of one call."""

    recorded: int  # rows added
    unchanged: int  # verdicts that were the latest already


@dataclass(frozen=True)
class ModelRecord:
    """A model in the database, without its bytes."""

    version: str
    manifest: Mapping[str, Any]
    created: datetime
    active: bool


@dataclass(frozen=True)
class Counts:
    """How much there is."""

    images: int
    queries: int
    pairs: int  # pairs with a verdict that counts
