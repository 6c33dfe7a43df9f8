"""Images, what is said about them, and their features."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Box",
    "CategoryCounts",
    "FeatureBlock",
    "FeatureMatrix",
    "Fields",
    "ImageFilter",
    "ImageLabel",
    "NewImage",
    "Picture",
    "Pixels",
    "Scalar",
    "StoredImage",
    "StoredKeys",
]

FeatureMatrix = npt.NDArray[np.float16]
Pixels = npt.NDArray[np.uint8]
Scalar = str | int | float | bool | None


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
class ImageLabel:
    """What a picture is called, without the rest."""

    id: str
    category: str | None


@dataclass(frozen=True)
class CategoryCounts:
    """How many images there are of each category."""

    images: Mapping[str, int]  # by category, most images first, equals in the order of their code points
    without: int  # images that have none


@dataclass(frozen=True)
class ImageFilter:
    """Which images: those that agree with all of it. Empty: every image."""

    category: str | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)  # members of the metadata, by name and value


@dataclass(frozen=True)
class Box:
    """A part of an upright picture, in shares of its width and height."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Picture:
    """A decoded upload, ready for the backbone."""

    pixels: Pixels  # (size, size, 3)
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
