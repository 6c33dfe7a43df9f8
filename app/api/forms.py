"""Bodies, read in one way for all routes: forms into their parts, JSON into values. What is wrong is named."""

import json
from collections.abc import Iterable
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, BinaryIO, Final, TypeVar, cast

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser

from app.api.form_files import FormFile, Shared
from app.errors import StoreUnavailable, TooManyFiles

__all__ = ["FORM", "JSON", "files_of", "invalid", "json_of", "kind_of", "read_form", "validated"]

FORM: Final = "multipart/form-data"
JSON: Final = "application/json"

_MAX_FIELDS = 32  # texts, of one form
_MAX_TEXT_BYTES = 2**20  # of each
_MAX_FILES = 16
# In one JSON text; 64 KiB of metadata have fewer. Python holds its lock while it makes lists, and again while it looks
# through them for garbage: a million of them would stop the event loop for seconds, from whichever thread.
_MAX_LISTS = 100_000
_LOCATION_PARTS = 8  # of where an error is: what nests deeper than pydantic follows has hundreds
_SHOWN = 50  # characters of a name that a client chose

T = TypeVar("T")


def kind_of(request: Request) -> str:
    """The media type of its body, without parameters; for all kinds of JSON it is JSON, and "" for none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return JSON if kind.startswith("application/") and kind.endswith("+json") else kind


async def read_form(
    request: Request, *, max_files: int = _MAX_FILES, max_text_bytes: int = _MAX_TEXT_BYTES
) -> FormData:
    """The body in its parts, to be closed. Raises: TooManyFiles, StoreUnavailable, HTTPException 400, 408, 413."""
    try:
        async with aclosing(request.stream()) as stream:
            return await _Parser(
                request.headers, stream, max_files=max_files, max_fields=_MAX_FIELDS, max_part_size=max_text_bytes
            ).parse()
    except MultiPartException as error:
        if error.message.startswith("Too many files"):
            raise TooManyFiles(f"There are more than {max_files:,} files in this call: send several calls.") from error
        raise HTTPException(HTTPStatus.BAD_REQUEST, error.message) from error
    except UnicodeError as error:  # in the parameters of the content type
        raise HTTPException(HTTPStatus.BAD_REQUEST, f"The Content-Type is no text: {error}") from error
    except OSError as error:  # no room where temporary files go
        raise StoreUnavailable(f"The files could not be kept while they came: {error.strerror or error}.") from error


class _Parser(MultiPartParser):
    """Starlette's, which takes text of any encoding and reads it as Latin-1 if it is no text in that."""

    _shared: Shared | None = None

    def on_part_begin(self) -> None:
        if self._charset != "utf-8":
            raise MultiPartException("A form's text is UTF-8: leave the charset out of the Content-Type.")
        super().on_part_begin()

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        if file := self._current_part.file:
            file.file.close()
            file.file = cast(BinaryIO, FormFile(self._place()))

    def _place(self) -> Shared:
        """Closed with any of the files in it, or by Starlette if the form does not come to its end."""
        if self._shared is None:
            self._shared = Shared()
            self._files_to_close_on_error.append(self._shared.file)
        return self._shared

    def on_part_end(self) -> None:
        part = self._current_part
        try:
            part.data.decode()
        except UnicodeDecodeError as error:
            raise MultiPartException(f"The field {part.field_name[:_SHOWN]!a} is no UTF-8 text.") from error
        super().on_part_end()


def files_of(form: FormData, field: str) -> list[UploadFile]:
    """One at least. Raises: RequestValidationError."""
    parts = form.getlist(field)
    files = [part for part in parts if isinstance(part, UploadFile)]
    if len(files) < len(parts):
        raise invalid("this is a text: send a file, with a file name", field)
    if not files:
        raise invalid("Field required", field)
    return files


def json_of(text: str | bytes, *location: str) -> Any:
    """What it says; call in a worker thread if it may be long. Raises: RequestValidationError."""
    try:
        text = text if isinstance(text, str) else text.decode()
        if text.count("[") > _MAX_LISTS:
            raise invalid(f"there are more than {_MAX_LISTS:,} lists in it", *location)
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise invalid(f"this is no JSON: {error}", *location) from error


def _without_repeats(members: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Which of two would count is anybody's guess."""
    found: dict[str, Any] = {}
    for name, value in members:
        if name in found:
            raise ValueError(f"{name[:_SHOWN]!a} stands twice in one object")
        found[name] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"there is no {name} in JSON")


def validated(adapter: TypeAdapter[T], value: Any, *location: str) -> T:
    """Raises: RequestValidationError."""
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError(
            [{**each, "loc": ("body", *location, *each["loc"][:_LOCATION_PARTS])} for each in found]
        ) from error


def invalid(message: str, *location: str) -> RequestValidationError:
    """location: below the body."""
    return RequestValidationError([{"type": "value_error", "loc": ("body", *location), "msg": message}])
