"""What one call is, before anything is sent: the same for both clients.

The other modules here make these values, `app.client.sync` and `app.client.asynchronous` send them. So each endpoint is
written down once.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, TypeAdapter

__all__ = [
    "Call",
    "File",
    "Lines",
    "Listing",
    "Page",
    "Part",
    "Stream",
    "as_json",
    "bytes_of",
    "file_part",
    "form",
    "json_if_any",
    "json_of",
    "list_of",
    "nothing_of",
    "path_of",
    "text_of",
]

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)

# Bytes, the path of a file, or a file opened for reading bytes.
File = bytes | str | Path | BinaryIO
Part = tuple[str, bytes]  # a file's name and its bytes
Parser = Callable[[httpx.Response], T]


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request, and how its answer is read."""

    method: str
    path: str
    parse: Parser[T]
    repeatable: bool = True  # whether sending it twice does what sending it once does
    params: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    data: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[tuple[str, Part]] = ()

    @property
    def arguments(self) -> dict[str, Any]:
        """As httpx takes them."""
        given = {"params": self.params, "json": self.json, "data": self.data, "files": self.files}
        return {"method": self.method, "url": self.path} | {name: value for name, value in given.items() if value}


@dataclass(frozen=True)
class Stream(Generic[T]):
    """A call whose answer is one JSON object a line, read as it comes."""

    call: Call[None]
    parse_line: Callable[[bytes], T]


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some of what a listing has."""

    items: Sequence[T]
    next: str | None


@dataclass(frozen=True)
class Listing(Generic[T]):
    """Calls for the pages of a listing."""

    page: Callable[[str | None], Call[Page[T]]]  # of a cursor


class Lines:
    """Lines out of chunks. Only a line feed ends one: JSON may hold what else Unicode counts as a line's end."""

    def __init__(self) -> None:
        self._rest = b""  # of a line whose end has not come

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk ends."""
        *ended, self._rest = (self._rest + chunk).split(b"\n")
        return ended

    def end(self) -> list[bytes]:
        """What is left when no chunk follows."""
        return self.feed(b"\n")


def json_of(kind: type[Model]) -> Parser[Model]:
    """Reads an answer that is one JSON object."""
    return lambda response: kind.model_validate_json(response.content)


def json_if_any(kind: type[Model]) -> Parser[Model | None]:
    """Reads the same, or None out of an answer 204."""
    return lambda response: kind.model_validate_json(response.content) if response.content else None


def list_of(kind: type[Model]) -> Parser[list[Model]]:
    """Reads an answer that is a JSON array."""
    adapter = TypeAdapter(list[kind])  # type: ignore[valid-type]
    return lambda response: adapter.validate_json(response.content)


def bytes_of(response: httpx.Response) -> bytes:
    """The answer as it is."""
    return response.content


def text_of(response: httpx.Response) -> str:
    """The answer as text."""
    return response.content.decode()


def nothing_of(_response: httpx.Response) -> None:
    """There is nothing to read."""


def path_of(*parts: str) -> str:
    """The path of an endpoint. An id is one part of it, whatever it holds. Raises: ValueError where it cannot be."""
    for part in parts:
        if part in {"", ".", ".."}:
            raise ValueError(f"{part!r} is no id: it would name another path.")
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def form(**values: Any) -> dict[str, str]:
    """Text fields of a form or a query: None is left out, text stays, the rest is JSON."""
    return {
        name: value if isinstance(value, str) else as_json(value) for name, value in values.items() if value is not None
    }


def as_json(value: Any) -> str:
    """As text. Raises: ValueError for NaN and infinity, which JSON has no words for."""
    return json.dumps(value.model_dump() if isinstance(value, BaseModel) else value, allow_nan=False)


def file_part(file: File) -> Part:
    """A file's name, as far as there is one, and its bytes. They are read at once, so that they can be sent again."""
    if isinstance(file, bytes):
        return "file", file
    if isinstance(file, str | Path):
        return Path(file).name, Path(file).read_bytes()
    name = getattr(file, "name", None)
    return Path(name).name if isinstance(name, str) else "file", file.read()
