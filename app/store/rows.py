"""Rows and bytes to values and back; blocks of parameters."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Row

from app.records import FeatureMatrix, StoredImage

__all__ = ["blocks", "features_from", "features_to_bytes", "image_from"]

T = TypeVar("T")

_FEATURE_TYPE = np.dtype("<f2")  # float16, little endian on every machine
_BLOCK = 500  # parameters in one IN list: far below every database's limit


def blocks(items: Iterable[T], size: int = _BLOCK) -> Iterator[Sequence[T]]:
    """The items in lists of at most `size`."""
    remaining = iter(items)
    while block := list(islice(remaining, size)):
        yield block


def features_to_bytes(features: FeatureMatrix) -> bytes:
    """Features (D,) as they are stored."""
    return features.astype(_FEATURE_TYPE).tobytes()


def features_from(blobs: Sequence[bytes]) -> FeatureMatrix:
    """Stored features of n images as (n, D)."""
    return np.frombuffer(b"".join(blobs), _FEATURE_TYPE).astype(np.float16).reshape(len(blobs), -1)


def image_from(row: Row[Any]) -> StoredImage:
    """A row of the images table without its features."""
    return StoredImage(**row._mapping)
