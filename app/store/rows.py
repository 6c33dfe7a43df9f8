"""Rows and bytes to values and back; blocks of parameters."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Row

from app.errors import StoreUnavailable
from app.records import FeatureBlock, FeatureMatrix, StoredImage, StoredKeys

__all__ = [
    "blocks",
    "can_be_stored",
    "check_features",
    "features_from",
    "features_to_bytes",
    "image_from",
    "joined",
    "keys_from",
    "sorted_keys",
    "stored_bytes",
]

T = TypeVar("T")

_FEATURE_TYPE = np.dtype("<f2")  # float16, little endian on every machine
_BLOCK = 500  # parameters in one IN list: far below SQLite's limit of 32,766


def blocks(items: Iterable[T], size: int = _BLOCK) -> Iterator[Sequence[T]]:
    """The items in lists of at most `size`."""
    remaining = iter(items)
    while block := list(islice(remaining, size)):
        yield block


def can_be_stored(text: str) -> bool:
    """Whether a column can hold it: PostgreSQL refuses even to compare with what holds NUL."""
    return "\0" not in text


def features_to_bytes(features: FeatureMatrix) -> bytes:
    """Features (D,) as they are stored."""
    return features.astype(_FEATURE_TYPE).tobytes()


def stored_bytes(feature_dim: int) -> int:
    """How long the features of one image are as they are stored."""
    return feature_dim * _FEATURE_TYPE.itemsize


def check_features(image_id: str, stored: bytes, expected_bytes: int) -> None:
    """Raises: StoreUnavailable if they are not of the collection's length: somebody else was at the database."""
    if len(stored) != expected_bytes:
        raise StoreUnavailable(
            f"The features of image {image_id!r} in the database have {len(stored):,} bytes, not {expected_bytes:,}: "
            "stop the service and run `samekind check --repair`, which extracts them again."
        )


def features_from(blobs: Sequence[bytes]) -> FeatureMatrix:
    """Stored features of n images as (n, D); (0, 0) of none."""
    if not blobs:
        return np.empty((0, 0), np.float16)
    return np.frombuffer(b"".join(blobs), _FEATURE_TYPE).astype(np.float16).reshape(len(blobs), -1)


def joined(parts: Iterable[FeatureBlock]) -> FeatureBlock:
    """Several blocks as one; empty ones may be of any D."""
    full = [part for part in parts if len(part.seqs)]
    if not full:
        return FeatureBlock(np.empty(0, np.int64), np.empty((0, 0), np.float16))
    return FeatureBlock(np.concatenate([part.seqs for part in full]), np.concatenate([part.features for part in full]))


def keys_from(rows: Sequence[Any]) -> StoredKeys:
    """Rows of seq and the first 16 hexadecimal digits of sha256."""
    digits = bytes.fromhex("".join(digits for _, digits in rows))
    return StoredKeys(np.array([seq for seq, _ in rows], np.int64), np.frombuffer(digits, ">u8").astype(np.uint64))


def sorted_keys(parts: Sequence[StoredKeys]) -> StoredKeys:
    """All of them in the order of seq."""
    if not parts:
        return StoredKeys(np.empty(0, np.int64), np.empty(0, np.uint64))
    seqs = np.concatenate([part.seqs for part in parts])
    order = np.argsort(seqs)
    return StoredKeys(seqs[order], np.concatenate([part.fingerprints for part in parts])[order])


def image_from(row: Row[Any]) -> StoredImage:
    """A row of the images table without its features."""
    return StoredImage(**row._mapping)
