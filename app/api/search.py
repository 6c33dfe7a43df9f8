"""/v1/search."""

from typing import Annotated

from fastapi import APIRouter, Depends, File, Query, Request, UploadFile

from app.api.dependencies import CollectionDep
from app.api.schemas import SearchAnswer
from app.errors import BadField, BadSearch
from app.services.search import search_by_image, search_by_upload

__all__ = ["router"]

router = APIRouter(prefix="/v1/search", tags=["search"])


async def _nothing_but_a_file(request: Request) -> None:
    """What stands beside it in the body would be ignored in silence. Raises: BadField."""
    others = sorted({name for name in await request.form() if name != "file"})  # read already, with the file
    if others:
        raise BadField(
            f"A search's body holds nothing but `file`; k and image_id belong into the URL (/v1/search?k=5): got "
            f"{', '.join(ascii(name[:50]) for name in others[:5])} in the body."
        )


@router.post("", dependencies=[Depends(_nothing_but_a_file)])
def search(
    collection: CollectionDep,
    k: Annotated[int, Query(description="How many neighbours.")] = 10,
    image_id: Annotated[str | None, Query(description="A stored image, which is left out of its neighbours.")] = None,
    file: Annotated[UploadFile | None, File(description="A picture that need not be stored.")] = None,
) -> SearchAnswer:
    """The k nearest images, by an uploaded picture or by a stored one: give exactly one of `file` and `image_id`."""
    if file is not None and image_id is None:
        return SearchAnswer.of(search_by_upload(collection, file.file.read(), k))
    if image_id is not None and file is None:
        return SearchAnswer.of(search_by_image(collection, image_id, k))
    raise BadSearch("Search by exactly one of the two: a `file` in a multipart body, or `image_id` in the URL.")
