"""POST /v1/images/batch: many files in one request, added at once if they are few, else as a job."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from anyio import create_task_group
from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from pydantic import FailFast, TypeAdapter
from starlette.datastructures import FormData, UploadFile

from app.api.dependencies import CollectionDep
from app.api.errors import problem_of
from app.api.file_room import file_room
from app.api.forms import files_of, invalid, json_of, read_form, validated
from app.api.jobs import accepted
from app.api.rendering import image_answer
from app.api.routing import GuardedRoute, needs
from app.contract.answers import BatchAnswer, BatchItem, Job
from app.contract.requests import FileFields
from app.records import BatchFile
from app.services.adding import Upload, add_image
from app.services.batches import MAX_AT_ONCE, MAX_FILES, start_adding
from app.services.collection import Collection
from app.services.fields import readable_name

__all__ = ["router"]

router = APIRouter(prefix="/v1/images", tags=["images"], route_class=GuardedRoute)

# Of `items`, 4 KiB for each of a thousand files. As objects it takes thirty times as much memory, if they are empty.
_MAX_ITEMS_BYTES = 4 * 2**20
_ITEMS = TypeAdapter(Annotated[list[FileFields], FailFast()])

_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "properties": {
                    "files": {
                        "type": "array",
                        "items": {"type": "string", "format": "binary"},
                        "minItems": 1,
                        "maxItems": MAX_FILES,
                        "description": "The image files.",
                    },
                    "items": {
                        "type": "string",
                        "contentMediaType": "application/json",
                        "description": "A JSON list, an object for each file in their order: `id`, `category`, "
                        "`metadata`, each of which may be left out.",
                    },
                },
                "required": ["files"],
                "additionalProperties": False,
            },
            "example": {"files": ["cup.jpg", "hat.jpg"], "items": '[{"id": "cup-1", "category": "cups"}, {}]'},
        }
    },
}


@router.post(
    "/batch",
    response_model=BatchAnswer,
    responses={
        202: {"model": Job, "description": f"More than {MAX_AT_ONCE} files: kept, and added by the job at `Location`."}
    },
    **needs("writer", extraction=True, requestBody=_BODY),
)
async def add_batch(collection: CollectionDep, request: Request, response: Response) -> Any:
    """Add many images in one request: `files` repeated, and optionally `items`, what is said of each of them.

    Up to 64 files are added before the answer; one that fails fails alone. Up to 1,000 are kept on disk and added by a
    job, whose failures have the names of the files. The same bytes again change nothing, so what failed for want of
    room or time can be sent again as it was.
    """
    async with _form(request) as form:
        files = await run_sync(_files, form)  # megabytes of JSON may be among it
        if len(files) <= MAX_AT_ONCE:
            return await _added(collection, files)
        job = accepted(await run_sync(start_adding, collection, files), response)
    return Response(job.model_dump_json(), 202, {"Location": response.headers["Location"]}, "application/json")


@asynccontextmanager
async def _form(request: Request) -> AsyncIterator[FormData]:
    """Raises: TooManyFiles, StoreUnavailable, HTTPException 400, 408, 413."""
    form = await read_form(request, max_files=MAX_FILES, max_text_bytes=_MAX_ITEMS_BYTES)
    try:
        yield form
    finally:
        await form.close()


def _files(form: FormData) -> list[BatchFile]:
    """Raises: RequestValidationError."""
    if unknown := next((name for name in form if name not in ("files", "items")), None):
        raise invalid("there is no such field here", unknown[:50])
    files = files_of(form, "files")
    return [_file(each, said) for each, said in zip(files, _said(form, len(files)), strict=True)]


def _file(file: UploadFile, said: FileFields) -> BatchFile:
    try:
        metadata = None if said.metadata is None else json.dumps(said.metadata)
    except RecursionError as error:
        raise invalid("metadata nests too deep: flatten it", "items") from error
    return BatchFile(readable_name(file.filename or ""), file.file, said.id, said.category, metadata)


def _said(form: FormData, count: int) -> Sequence[FileFields]:
    """What `items` says of each file. Raises: RequestValidationError."""
    texts = form.getlist("items")
    if not texts:
        return [FileFields()] * count
    if len(texts) > 1 or not isinstance(texts[0], str):
        raise invalid("this is one field of JSON text", "items")
    said = json_of(texts[0], "items")
    if isinstance(said, list) and len(said) != count:  # before its parts are looked at
        raise invalid(f"there are {len(said):,} objects for {count:,} files: give one for each", "items")
    return validated(_ITEMS, said, "items")


async def _added(collection: Collection, files: Sequence[BatchFile]) -> BatchAnswer:
    items: dict[int, BatchItem] = {}

    async def add(number: int, file: BatchFile) -> None:
        async with file_room():
            items[number] = await _outcome(collection, file)

    async with create_task_group() as group:
        for number, file in enumerate(files):
            group.start_soon(add, number, file)
    in_order = [items[number] for number in range(len(files))]
    return BatchAnswer(errors=any(item.problem for item in in_order), items=in_order)


async def _outcome(collection: Collection, file: BatchFile) -> BatchItem:
    try:
        upload = Upload(await run_sync(file.file.read), file.id, file.category, file.metadata)
        image, is_new = await add_image(collection, upload)
    except Exception as error:
        problem = problem_of(error)
        if problem is None:
            raise
        return BatchItem(name=file.name, status=problem.status, image=None, problem=problem)
    return BatchItem(name=file.name, status=201 if is_new else 200, image=image_answer(image), problem=None)
