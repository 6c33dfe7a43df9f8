"""Small versions of pictures, for grids."""

import hashlib
from dataclasses import replace
from typing import BinaryIO

from app.errors import MissingFile
from app.records import StoredImage
from app.services.collection import Collection
from app.services.images import open_file

__all__ = ["make_thumbnail", "open_thumbnail"]


def open_thumbnail(collection: Collection, image_id: str) -> tuple[StoredImage, BinaryIO]:
    """The image and its thumbnail, a JPEG of at most 320 x 320 pixels, to be closed by the caller.

    One that is gone or damaged is made anew.
    Raises: UnknownImage, MissingFile, StoreUnavailable, BadImage and its kinds.
    """
    image = collection.repository.images.get(image_id)
    try:
        if image.thumbnail:
            return image, collection.blobs.open(image.thumbnail)
    except MissingFile:
        pass
    name = make_thumbnail(collection, image)
    return replace(image, thumbnail=name), collection.blobs.open(name)


def make_thumbnail(collection: Collection, image: StoredImage) -> str:
    """Make the thumbnail from the original and keep it; returns its blob's name.

    Raises: MissingFile, StoreUnavailable, BadImage and its kinds.
    """
    _, original = open_file(collection, image.id)
    with original:
        content = collection.extractor.decode(original.read(), thumbnail=True).thumbnail or b""
    name = hashlib.sha256(content).hexdigest()
    with collection.change:  # or a sweep could come between the two
        collection.blobs.put(name, content)
        collection.repository.images.set_thumbnail(image.seq, name)
    return name
