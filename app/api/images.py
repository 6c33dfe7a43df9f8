"""/v1/images: add, list, read, change, delete."""

from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, File, Form, Path, Query, Request, Response, UploadFile
from fastapi.responses import StreamingResponse

from app.api.caching import cache_headers, kept, not_modified
from app.api.dependencies import CollectionDep
from app.api.described import contents
from app.api.rendering import image_answer, image_link, page_answer
from app.api.routing import GuardedRoute, needs
from app.contract import examples
from app.contract.answers import Image, ImagePage
from app.contract.requests import ImageChanges
from app.records import StoredImage
from app.services import adding, thumbnails
from app.services import images as service
from app.services.cursor import MAX_PAGE
from app.services.media import EXTENSIONS

__all__ = ["router"]

router = APIRouter(prefix="/v1/images", tags=["images"], route_class=GuardedRoute)

_CHUNK_BYTES = 65_536
_METADATA = '{"shelf": 7}'
_KEPT: dict[int | str, dict[str, Any]] = {304: {"description": "What the client has is still the file (ETag)."}}
_FILE = contents(*EXTENSIONS, example="The bytes of the file.") | _KEPT
_THUMBNAIL = contents("image/jpeg", example="The bytes of a JPEG.") | _KEPT

ImageId = Annotated[str, Path(examples=[examples.IMAGE_ID])]


@router.post(
    "",
    status_code=201,
    responses={200: {"model": Image, "description": "The same bytes were there."}},
    **needs("writer", extraction=True),
)
async def add_image(
    collection: CollectionDep,
    response: Response,
    file: Annotated[UploadFile, File(description="The image file.", examples=["cup.jpg"])],
    id: Annotated[  # noqa: A002
        str | None,
        Form(description="1 to 200 letters, digits, . _ : -; left out: one is made.", examples=[examples.IMAGE_ID]),
    ] = None,
    category: Annotated[str | None, Form(description="Up to 200 characters.", examples=["cups"])] = None,
    metadata: Annotated[str | None, Form(description="A JSON object.", examples=[_METADATA])] = None,
) -> Image:
    """Add an image. The same bytes again give the image that is there, unchanged, with status 200."""
    upload = adding.Upload(await file.read(), id, category, metadata)
    image, is_new = await adding.add_image(collection, upload)
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = image_link(image.id)
    return image_answer(image)


@router.get("", **needs("reader"))
def list_images(
    collection: CollectionDep,
    limit: Annotated[int, Query(description=f"1 to {MAX_PAGE}.", examples=[100])] = 100,
    cursor: Annotated[str | None, Query(description="`next` of the page before.", examples=[examples.CURSOR])] = None,
    category: Annotated[str | None, Query(description="Only images of that category.", examples=["cups"])] = None,
    metadata: Annotated[
        str | None,
        Query(
            description='Only images whose metadata have these members, such as `{"shelf": 7}`.', examples=[_METADATA]
        ),
    ] = None,
) -> ImagePage:
    """List images in the order in which they were added."""
    return page_answer(service.list_images(collection, limit, cursor, category, metadata))


@router.get("/{image_id}", **needs("reader"))
def get_image(collection: CollectionDep, image_id: ImageId) -> Image:
    """One image."""
    return image_answer(service.get_image(collection, image_id))


@router.get("/{image_id}/file", response_class=StreamingResponse, responses=_FILE, **needs("reader"))
def get_file(collection: CollectionDep, image_id: ImageId, request: Request) -> Response:
    """The original file, byte for byte."""
    image = service.get_image(collection, image_id)
    if kept(request, image.sha256):
        return not_modified(image.sha256)
    image, file = service.open_file(collection, image_id)
    return StreamingResponse(_chunks(file), media_type=image.media_type, headers=_file_headers(image))


@router.get("/{image_id}/thumbnail", response_class=StreamingResponse, responses=_THUMBNAIL, **needs("reader"))
def get_thumbnail(collection: CollectionDep, image_id: ImageId, request: Request) -> Response:
    """A small version of it, a JPEG of at most 320 x 320 pixels."""
    image = service.get_image(collection, image_id)
    if image.thumbnail and kept(request, image.thumbnail):
        return not_modified(image.thumbnail)
    image, file = thumbnails.open_thumbnail(collection, image_id)
    headers = _headers(f"{image.id}-small.jpg") | cache_headers(image.thumbnail or "")
    return StreamingResponse(_chunks(file), media_type="image/jpeg", headers=headers)


@router.patch("/{image_id}", **needs("writer"))
def change_image(collection: CollectionDep, image_id: ImageId, changes: ImageChanges) -> Image:
    """Change category or metadata, as a JSON merge patch (RFC 7396): null removes, what is left out stays."""
    return image_answer(service.update_image(collection, image_id, changes.model_dump(exclude_unset=True)))


@router.delete("/{image_id}", status_code=204, **needs("writer"))
def delete_image(collection: CollectionDep, image_id: ImageId) -> None:
    """Delete an image; it is gone from search at once, and verdicts about it count no more."""
    service.delete_image(collection, image_id)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _file_headers(image: StoredImage) -> dict[str, str]:
    extension = EXTENSIONS.get(image.media_type, "bin")
    return _headers(f"{image.id}.{extension}") | cache_headers(image.sha256) | {"Content-Length": str(image.byte_size)}


def _headers(name: str) -> dict[str, str]:
    return {
        "Content-Disposition": f'inline; filename="{name}"',  # ids hold nothing that needs quoting
        "Content-Security-Policy": "default-src 'none'; sandbox",  # opened by itself it is a picture and nothing else
    }
