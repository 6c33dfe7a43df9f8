"""Reading, listing, changing and deleting images. Adding is in `adding`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO

import numpy as np

from app.errors import BadField
from app.records import Fields, ImageFilter, StoredImage
from app.services.collection import Collection
from app.services.cursor import one_page
from app.services.fields import check_metadata, check_text, filter_from
from app.services.files import delete_files

__all__ = ["Page", "delete_image", "get_image", "list_images", "open_file", "read_file", "update_image"]


@dataclass(frozen=True)
class Page:
    images: list[StoredImage]
    next: str | None  # cursor of the following page


def get_image(collection: Collection, image_id: str) -> StoredImage:
    """Raises: UnknownImage."""
    return collection.repository.images.get(image_id)


def open_file(collection: Collection, image_id: str) -> tuple[StoredImage, BinaryIO]:
    """The image and its original bytes, to be closed by the caller; they are what was added, or an error.

    Raises: UnknownImage, MissingFile (also for a damaged file), StoreUnavailable.
    """
    image = get_image(collection, image_id)
    return image, collection.blobs.open(image.sha256)


def read_file(collection: Collection, image_id: str) -> bytes:
    """Its original bytes. Raises: as `open_file`."""
    _, file = open_file(collection, image_id)
    with file:
        return file.read()


def list_images(
    collection: Collection, limit: int, cursor: str | None, category: str | None, metadata: str | None = None
) -> Page:
    """A page in the order in which images were added. Deleting or adding images moves none to another place.

    category, metadata: only images of that category, whose metadata have the members of that JSON object.
    Raises: BadLimit, BadCursor, BadField.
    """

    def rows(count: int, after: int) -> list[StoredImage]:
        where = ImageFilter(check_text("category", category), filter_from(metadata))
        return collection.repository.images.page(count, after=after, where=where)

    return Page(*one_page(rows, limit, cursor))


def update_image(collection: Collection, image_id: str, changes: Mapping[str, Any]) -> StoredImage:
    """Change `category`, `metadata` or both, as a JSON merge patch (RFC 7396): null removes, what is left out stays.

    Raises: UnknownImage, BadField; then nothing was changed.
    """
    if not changes:
        raise BadField("There is nothing to change: give category, metadata or both.")

    def changed(image: StoredImage) -> Fields:
        category = check_text("category", changes["category"]) if "category" in changes else image.category
        if "metadata" not in changes:
            return Fields(category, image.metadata)
        return Fields(category, check_metadata(_merged(image.metadata, changes["metadata"]) or {}))

    if collection.shared is None:
        return collection.repository.images.update(image_id, changed, datetime.now(UTC))
    with collection.change:
        image = collection.repository.images.update(image_id, changed, datetime.now(UTC))
        collection.shared.fields_changed(np.array([image.seq], np.int64))
    collection.fed_soon.set()
    return image


def delete_image(collection: Collection, image_id: str) -> None:
    """Remove an image; when this returns no search finds it.

    Its files go with it, or with the next sweep: after a crash halfway, or while somebody copies the files.
    Raises: UnknownImage.
    """
    with collection.change:
        image = collection.repository.images.delete(image_id)
        collection.deleted.append(image.seq)
        if collection.shared:
            collection.shared.removed(np.array([image.seq], np.int64))
        elif collection.active:
            collection.active.index.remove(np.array([image.seq], np.int64))
    collection.fed_soon.set()
    delete_files(collection, image.files)


def _merged(old: Any, patch: Any) -> Any:
    """RFC 7396, section 2."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(old) if isinstance(old, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged
