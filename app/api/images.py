"""/v1/images: add, list, read, change, delete."""

from collections.abc import Iterator
from typing import Annotated, BinaryIO

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from fastapi.responses import StreamingResponse

from app.api.bodies import ImageChanges
from app.api.dependencies import CollectionDep
from app.api.schemas import Image, ImagePage, image_link
from app.records import StoredImage
from app.services import adding, thumbnails
from app.services import images as service
from app.services.media import EXTENSIONS

__all__ = ["router"]

router = APIRouter(prefix="/v1/images", tags=["images"])

_CHUNK_BYTES = 65_536


@router.post("", status_code=201, responses={200: {"model": Image, "description": "The same bytes were there."}})
def add_image(
    collection: CollectionDep,
    response: Response,
    file: Annotated[UploadFile, File(description="The image file.")],
    id: Annotated[str | None, Form(description="1 to 200 letters, digits, . _ : -; left out: one is made.")] = None,  # noqa: A002
    category: Annotated[str | None, Form(description="Up to 200 characters.")] = None,
    metadata: Annotated[str | None, Form(description="A JSON object.")] = None,
) -> Image:
    """Add an image. The same bytes again give the image that is there, unchanged, with status 200."""
    upload = adding.Upload(file.file.read(), id, category, metadata)
    image, is_new = adding.add_image(collection, upload)
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = image_link(image.id)
    return Image.of(image)


@router.get("")
def list_images(
    collection: CollectionDep,
    limit: Annotated[int, Query(description=f"1 to {service.MAX_PAGE}.")] = 100,
    cursor: Annotated[str | None, Query(description="`next` of the page before.")] = None,
    category: Annotated[str | None, Query(description="Only images of that category.")] = None,
    metadata: Annotated[
        str | None, Query(description='Only images whose metadata have these members, such as `{"shelf": 7}`.')
    ] = None,
) -> ImagePage:
    """List images in the order in which they were added."""
    return ImagePage.of(service.list_images(collection, limit, cursor, category, metadata))


@router.get("/{image_id}")
def get_image(collection: CollectionDep, image_id: str) -> Image:
    """One image."""
    return Image.of(service.get_image(collection, image_id))


@router.get("/{image_id}/file", response_class=StreamingResponse)
def get_file(collection: CollectionDep, image_id: str) -> StreamingResponse:
    """The original file, byte for byte."""
    image, file = service.open_file(collection, image_id)
    return StreamingResponse(_chunks(file), media_type=image.media_type, headers=_file_headers(image))


@router.get("/{image_id}/thumbnail", response_class=StreamingResponse)
def get_thumbnail(collection: CollectionDep, image_id: str) -> StreamingResponse:
    """A small version of it, a JPEG of at most 320 x 320 pixels."""
    image, file = thumbnails.open_thumbnail(collection, image_id)
    return StreamingResponse(_chunks(file), media_type="image/jpeg", headers=_headers(f"{image.id}-small.jpg"))


@router.patch("/{image_id}")
def change_image(collection: CollectionDep, image_id: str, changes: ImageChanges) -> Image:
    """Change category or metadata, as a JSON merge patch (RFC 7396): null removes, what is left out stays."""
    return Image.of(service.update_image(collection, image_id, changes.model_dump(exclude_unset=True)))


@router.delete("/{image_id}", status_code=204)
def delete_image(collection: CollectionDep, image_id: str) -> None:
    """Delete an image; it is gone from search at once, and verdicts about it count no more."""
    service.delete_image(collection, image_id)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _file_headers(image: StoredImage) -> dict[str, str]:
    extension = EXTENSIONS.get(image.media_type, "bin")
    return _headers(f"{image.id}.{extension}") | {"Content-Length": str(image.byte_size)}


def _headers(name: str) -> dict[str, str]:
    return {
        "Content-Disposition": f'inline; filename="{name}"',  # ids hold nothing that needs quoting
        "Content-Security-Policy": "default-src 'none'; sandbox",  # opened by itself it is a picture and nothing else
    }
