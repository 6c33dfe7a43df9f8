"""Adding, reading, listing and deleting images."""

import hashlib
import logging
import os
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from app.errors import BadLimit, IdTaken, MissingFile, StoreUnavailable
from app.records import Extraction, FeatureMatrix, NewImage, StoredImage
from app.services.collection import ActiveModel, Collection
from app.services.cursor import decode_cursor, encode_cursor
from app.services.fields import check_image_id, check_text, metadata_from
from app.services.media import media_type

__all__ = ["MAX_PAGE", "Page", "Upload", "add_image", "delete_image", "get_image", "list_images", "open_file"]

_log = logging.getLogger(__name__)

MAX_PAGE = 1000  # images in one answer of a listing, about half a megabyte of JSON


@dataclass(frozen=True)
class Upload:
    """A file and what the client says about it, unchecked."""

    data: bytes
    id: str | None = None
    category: str | None = None
    metadata: str | None = None  # JSON text


@dataclass(frozen=True)
class Page:
    images: list[StoredImage]
    next: str | None  # cursor of the following page


def add_image(collection: Collection, upload: Upload) -> tuple[StoredImage, bool]:
    """Store an image and make it findable; True: it is new, False: its bytes were there, and nothing was changed.

    When this returns, a crash loses nothing of it: the file is on disk before the row, the row before the answer. If
    the bytes were there but their file is gone or cut, it is whole again.

    Raises: BadField, ReservedId, BadImage and its kinds, BadFeatures, IdTaken, StoreUnavailable. None leaves a row.
    """
    image_id = upload.id or uuid.uuid4().hex
    check_image_id(image_id)
    category, metadata = check_text("category", upload.category), metadata_from(upload.metadata)
    sha256 = hashlib.sha256(upload.data).hexdigest()
    if existing := _existing(collection, sha256, upload.data):
        return existing, False
    extraction = collection.extractor.extract(upload.data)
    image = NewImage(
        id=image_id,
        sha256=sha256,
        media_type=media_type(upload.data),
        width=extraction.width,
        height=extraction.height,
        byte_size=len(upload.data),
        category=category,
        metadata=metadata,
        created=datetime.now(UTC),
    )
    return _store(collection, image, upload.data, extraction)


def get_image(collection: Collection, image_id: str) -> StoredImage:
    """Raises: UnknownImage."""
    return collection.repository.images.get(image_id)


def open_file(collection: Collection, image_id: str) -> tuple[StoredImage, BinaryIO]:
    """The image and its original bytes, to be closed by the caller.

    Raises: UnknownImage, MissingFile (also for a file of another length), StoreUnavailable.
    """
    image = get_image(collection, image_id)
    file = collection.blobs.open(image.sha256)
    try:
        _check_length(image, file)
    except BaseException:
        file.close()
        raise
    return image, file


def list_images(collection: Collection, limit: int, cursor: str | None, category: str | None) -> Page:
    """A page in the order in which images were added. Deleting or adding images moves none to another place.

    Raises: BadLimit, BadCursor, BadField.
    """
    if not 1 <= limit <= MAX_PAGE:
        raise BadLimit(f"limit must be 1 to {MAX_PAGE}, got {limit}.")
    after = decode_cursor(cursor) if cursor else 0
    category = check_text("category", category)
    images = collection.repository.images.page(limit + 1, after=after, category=category)
    more = len(images) > limit
    return Page(images[:limit], encode_cursor(images[limit - 1].seq) if more else None)


def delete_image(collection: Collection, image_id: str) -> None:
    """Remove an image; when this returns no search finds it.

    A crash halfway leaves at worst a file that no row names, which does no harm. Raises: UnknownImage.
    """
    with collection.change:
        image = collection.repository.images.delete(image_id)
        if collection.active:
            collection.active.index.remove(image.seq)
        try:
            collection.blobs.delete(image.sha256)
        except StoreUnavailable as error:
            _log.warning("The file %s of a deleted image could not be removed: %s", image.sha256, error)


def _existing(collection: Collection, sha256: str, data: bytes) -> StoredImage | None:
    """The image of those bytes if there is one, with its file put back if somebody else removed or cut it."""
    images = collection.repository.images
    if not images.with_sha256(sha256):
        return None
    with collection.change:
        if existing := images.with_sha256(sha256):  # still: its deletion may have come between
            collection.blobs.put(sha256, data)
        return existing


def _check_length(image: StoredImage, file: BinaryIO) -> None:
    """Raises: MissingFile. An answer that has begun with the wrong length could only be cut off."""
    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    if length != image.byte_size:
        raise MissingFile(
            f"The file {image.sha256} in the blob store has {length:,} bytes, the image had {image.byte_size:,}: add "
            "the same picture again, restore the file from a backup, or delete its image."
        )


def _store(collection: Collection, image: NewImage, data: bytes, extraction: Extraction) -> tuple[StoredImage, bool]:
    active = collection.active
    embedding = _embedding(active, extraction.features)  # before anything is kept: it may fail
    collection.blobs.put(image.sha256, data)  # the slow part of it, while others may go on
    with collection.change:
        collection.blobs.put(image.sha256, data)  # again: the deletion of the same picture may have come between
        if collection.active is not active:  # another model took over meanwhile
            active = collection.active
            embedding = _embedding(active, extraction.features)
        try:
            stored, is_new = collection.repository.images.add(image, extraction.features)
        except IdTaken:
            collection.blobs.delete(image.sha256)
            raise
        if is_new and active and embedding is not None:
            active.index.add(np.array([stored.seq], np.int64), embedding)
    return stored, is_new


def _embedding(active: ActiveModel | None, features: FeatureMatrix) -> npt.NDArray[np.float32] | None:
    """(1, d), if there is a model. Raises: BadFeatures."""
    return active.embed(features[None]) if active else None
