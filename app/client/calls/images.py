"""Calls about images."""

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from app.client.calls.call import Call, File, Listing, Page, bytes_of, file_part, form, json_of, nothing_of, path_of
from app.contract.answers import Image, ImagePage

__all__ = [
    "Changes",
    "add_image",
    "change_image",
    "delete_image",
    "image",
    "image_file",
    "images",
    "thumbnail",
]


class Changes(TypedDict, total=False):
    """What may be changed; None removes, what is left out stays."""

    category: str | None
    metadata: Mapping[str, Any] | None  # members to set, None for those to remove


def add_image(
    file: File,
    *,
    id: str | None = None,  # noqa: A002
    category: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Call[Image]:
    """Add an image. The same bytes again give the image that is there, unchanged."""
    fields = form(id=id, category=category, metadata=metadata)
    return Call("POST", path_of("images"), json_of(Image), data=fields, files=[("file", file_part(file))])


def images(
    *, category: str | None = None, metadata: Mapping[str, Any] | None = None, page_size: int = 100
) -> Listing[Image]:
    """All images, or those of a category or with these members in their metadata, in the order of addition."""

    def page(cursor: str | None) -> Call[Page[Image]]:
        params = form(category=category, metadata=metadata, limit=page_size, cursor=cursor)
        return Call("GET", path_of("images"), lambda response: _page(json_of(ImagePage)(response)), params=params)

    return Listing(page)


def image(image_id: str) -> Call[Image]:
    """One image."""
    return Call("GET", path_of("images", image_id), json_of(Image))


def image_file(image_id: str) -> Call[bytes]:
    """The original file, byte for byte."""
    return Call("GET", path_of("images", image_id, "file"), bytes_of)


def thumbnail(image_id: str) -> Call[bytes]:
    """A small version of it, a JPEG file."""
    return Call("GET", path_of("images", image_id, "thumbnail"), bytes_of)


def change_image(image_id: str, **changes: Unpack[Changes]) -> Call[Image]:
    """Change category or metadata; None removes, what is left out stays."""
    return Call("PATCH", path_of("images", image_id), json_of(Image), json=dict(changes))


def delete_image(image_id: str) -> Call[None]:
    """Delete an image; it is gone from search at once. Raises: NotFound if it is not there."""
    return Call("DELETE", path_of("images", image_id), nothing_of, repeatable=False)


def _page(page: ImagePage) -> Page[Image]:
    return Page(page.images, page.next)
