"""The two kinds of body that a search takes: multipart with a picture, JSON without one."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from anyio.to_thread import run_sync
from fastapi import Request
from pydantic import TypeAdapter
from starlette.datastructures import FormData, UploadFile

from app.api.forms import FORM, files_of, invalid, json_of, kind_of, read_form, validated
from app.contract import requests
from app.errors import BadSearch
from app.records import Box, ImageFilter
from app.services.fields import check_filter, check_length, check_text
from app.services.queries import ByExamples, ByImage, ByUpload, ByUrl, Options, Query

__all__ = ["BATCH_FILES", "FILE", "Asked", "batch_body", "search_body"]

FILE: Final = "file"
BATCH_FILES: Final = "files"

_QUERY: TypeAdapter[requests.SearchQuery] = TypeAdapter(requests.SearchQuery)
_BATCH = TypeAdapter(requests.SearchBatch)
_FILE_OPTIONS = TypeAdapter(requests.FileOptions)
_SHORT = 4096  # characters of a form's texts, read in less time than a thread takes to begin
_TEXTS = {"category"}  # every other field of a form holds JSON: a number, true, an object
_OF_JSON_ONLY = {"by", "image_id", "url", "positives", "negatives", "queries"}


@dataclass(frozen=True)
class Upload:
    """A file to search by."""

    file: UploadFile
    crop: Box | None
    options: Options


@dataclass(frozen=True)
class Asked:
    """One search as it was written down. What is wrong with it comes out when it is read."""

    query: requests.SearchQuery | Upload
    k: int

    @property
    def has_file(self) -> bool:
        return isinstance(self.query, Upload)

    @property
    def fetches_picture(self) -> bool:
        """Whether there is something to extract although the body holds no file."""
        query = self.query
        return isinstance(query, requests.UrlQuery) or (isinstance(query, requests.ImageQuery) and bool(query.crop))

    async def read(self) -> tuple[Query, Options]:
        """Raises: BadField."""
        match self.query:
            case Upload(file=file, crop=crop, options=options):
                return ByUpload(await file.read(), crop), options
            case query:
                return await run_sync(lambda: (_query(query), _options(query)))


# Not dependencies of the routes: FastAPI lets what a dependency yields live on after the endpoint, within a scope that
# would then outlive the one of `while_connected`.
@asynccontextmanager
async def search_body(request: Request) -> AsyncIterator[Asked]:
    """What the body asks for, while the block runs.

    Raises: BadSearch, BadField, TooManyFiles, StoreUnavailable, RequestValidationError, HTTPException 400, 408, 413.
    """
    if kind_of(request) == FORM:
        async with _uploads(request, FILE) as uploads:
            if len(uploads) > 1:
                raise BadSearch("There are several files: a search takes one, POST /v1/search/batch takes many.")
            yield uploads[0]
    else:
        body = await request.body()
        yield await run_sync(lambda: _asked(validated(_QUERY, json_of(body))))


@asynccontextmanager
async def batch_body(request: Request) -> AsyncIterator[Sequence[Asked]]:
    """The same for many."""
    if kind_of(request) == FORM:
        async with _uploads(request, BATCH_FILES) as uploads:
            yield uploads
    else:
        body = await request.body()
        batch = await run_sync(lambda: validated(_BATCH, json_of(body)))
        yield [_asked(query) for query in batch.queries]


def _asked(query: requests.SearchQuery) -> Asked:
    return Asked(query, query.k)


@asynccontextmanager
async def _uploads(request: Request, file_field: str) -> AsyncIterator[list[Asked]]:
    form = await read_form(request, max_files=requests.MAX_QUERIES)
    try:
        is_short = sum(len(text) for _, text in form.multi_items() if isinstance(text, str)) <= _SHORT
        yield _asked_by_form(form, file_field) if is_short else await run_sync(_asked_by_form, form, file_field)
    finally:
        await form.close()


def _asked_by_form(form: FormData, file_field: str) -> list[Asked]:
    """Raises: BadSearch, BadField, RequestValidationError."""
    said = _file_options(form, file_field)
    files, crop, options = files_of(form, file_field), _box(said.crop), _options(said)
    return [Asked(Upload(file, crop, options), said.k) for file in files]


def _file_options(form: FormData, file_field: str) -> requests.FileOptions:
    """Raises: BadSearch, RequestValidationError."""
    values: dict[str, Any] = {}
    for name, text in form.multi_items():
        if name == file_field:
            continue
        if name in _OF_JSON_ONLY:
            raise BadSearch(
                f"A body with `{file_field}` searches by that: `{name}` belongs into an application/json body."
            )
        if name in values:
            raise invalid("this field stands twice", name)
        values[name] = text if name in _TEXTS or name not in requests.FileOptions.model_fields else _value(name, text)
    return validated(_FILE_OPTIONS, values)


def _value(name: str, text: str | UploadFile) -> Any:
    """Raises: BadField, RequestValidationError."""
    if isinstance(text, UploadFile):
        raise invalid("this is a file: send a text, without a file name", name)
    check_length(name, text)  # before it is read: a mebibyte of empty lists would be 50 of memory
    return json_of(text, name)


def _query(query: requests.SearchQuery) -> Query:
    match query:
        case requests.ImageQuery():
            return ByImage(query.image_id, _box(query.crop))
        case requests.UrlQuery():
            return ByUrl(query.url, _box(query.crop))
        case requests.ExamplesQuery():
            return ByExamples(query.positives, query.negatives)


def _options(options: requests.SearchOptions) -> Options:
    """Raises: BadField."""
    where = ImageFilter(check_text("category", options.category), check_filter(options.metadata or {}))
    return Options(options.k, options.offset, where, options.max_squared_distance, options.explain)


def _box(box: requests.Box | None) -> Box | None:
    return Box(box.left, box.top, box.right, box.bottom) if box else None
