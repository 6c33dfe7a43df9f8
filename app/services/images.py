"""Adding, reading, listing and deleting images."""

import hashlib
import logging
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO

import numpy as np

from app.errors import BadLimit, IdTaken, StoreUnavailable
from app.records import Extraction, FeatureMatrix, NewImage, StoredImage
from app.services.collection import Collection
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

    When this returns, a crash loses nothing of it: the file is on disk before the row, the row before the answer.

    Raises: BadField, ReservedId, BadImage and its kinds, IdTaken, StoreUnavailable.
    """
    image_id = upload.id or uuid.uuid4().hex
    check_image_id(image_id)
    category, metadata = check_text("category", upload.category), metadata_from(upload.metadata)
    sha256 = hashlib.sha256(upload.data).hexdigest()
    if existing := collection.repository.images.with_sha256(sha256):
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
    """The image and its original bytes, to be closed by the caller. Raises: UnknownImage, MissingFile."""
    image = get_image(collection, image_id)
    return image, collection.blobs.open(image.sha256)


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


def _store(collection: Collection, image: NewImage, data: bytes, extraction: Extraction) -> tuple[StoredImage, bool]:
    collection.blobs.put(image.sha256, data)  # the slow part of it, while others may go on
    with collection.change:
        collection.blobs.put(image.sha256, data)  # again: the deletion of the same picture may have come between
        try:
            stored, is_new = collection.repository.images.add(image, extraction.features)
        except IdTaken:
            collection.blobs.delete(image.sha256)
            raise
        if is_new and collection.active:
            _index(collection, stored, extraction.features)
    return stored, is_new


def _index(collection: Collection, image: StoredImage, features: FeatureMatrix) -> None:
    active = collection.require_active()
    active.index.add(np.array([image.seq], np.int64), active.model.metric.embed(features[None]))
