"""What the service keeps and passes around: plain values without behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "BlobName",
    "Counts",
    "FeatureBlock",
    "FeatureMatrix",
    "Fields",
    "Hit",
    "ImageFilter",
    "IndexRows",
    "ModelRecord",
    "NearDuplicate",
    "NewImage",
    "Picture",
    "Pixels",
    "Places",
    "QueryRecord",
    "RecordedPairs",
    "Scalar",
    "StoredImage",
    "StoredKeys",
]

FeatureMatrix = npt.NDArray[np.float16]
Pixels = npt.NDArray[np.float32]
Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class Places:
    """Where everything lies; `app.settings` says how to write them."""

    data_dir: Path
    database: str | Path
    blobs: str | Path


@dataclass(frozen=True)
class Fields:
    """What people say about an image and may change."""

    category: str | None
    metadata: Mapping[str, Any]


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
    thumbnail: str | None = None  # sha256 of the thumbnail's bytes, the name of its blob

    @property
    def files(self) -> list[str]:
        """The names of its blobs: original and thumbnail."""
        return [self.sha256, self.thumbnail] if self.thumbnail else [self.sha256]


@dataclass(frozen=True, kw_only=True)
class StoredImage(NewImage):
    """An image in the database. `seq` grows with every image and is never given twice; the index knows images by it."""

    seq: int
    updated: datetime | None = None  # when category or metadata changed last


@dataclass(frozen=True)
class ImageFilter:
    """Which images: those that agree with all of it. Empty: every image."""

    category: str | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)  # members of the metadata, by name and value


@dataclass(frozen=True)
class Picture:
    """A decoded upload, ready for the backbone."""

    pixels: Pixels  # (3, size, size)
    width: int  # pixels, of the whole picture, upright
    height: int
    thumbnail: bytes | None  # a JPEG file, if it was asked for


@dataclass(frozen=True)
class FeatureBlock:
    """Stored features of some images, in the order of seq."""

    seqs: npt.NDArray[np.int64]  # (n,)
    features: FeatureMatrix  # (n, D)


@dataclass(frozen=True)
class StoredKeys:
    """Which images there are, in the order of seq."""

    seqs: npt.NDArray[np.int64]  # (n,)
    fingerprints: npt.NDArray[np.uint64]  # (n,); the first 64 bits of each sha256


@dataclass(frozen=True)
class IndexRows:
    """What an index holds; by the fingerprints of StoredKeys it can be told from another collection's."""

    ids: npt.NDArray[np.int64]  # (n,)
    fingerprints: npt.NDArray[np.uint64]  # (n,)
    embeddings: npt.NDArray[np.float32]  # (n, d)


@dataclass(frozen=True)
class Hit:
    """One neighbour as the index knows it."""

    id: int
    squared_distance: float


@dataclass(frozen=True)
class NearDuplicate:
    """Two images that are nearly the same to the model, as the index knows them; left < right."""

    left: int
    right: int
    squared_distance: float


@dataclass(frozen=True)
class BlobName:
    """Something that lies in the blob store."""

    name: str  # of the file, without its folder
    is_partial: bool  # left by a writer that was killed, or just being written
    modified: float | None  # seconds since 1970, where the store knows it


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
