"""Calls that search."""

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

from app.client.calls.call import Call, File, file_part, form, json_of, path_of
from app.contract.answers import SearchAnswer, SearchBatchAnswer
from app.contract.requests import Box, ExamplesQuery, ImageQuery, UrlQuery

__all__ = [
    "FileOptions",
    "Options",
    "search",
    "search_batch",
    "search_by_examples",
    "search_by_id",
    "search_by_url",
    "search_files",
]


class Options(TypedDict, total=False):
    """What every search may say."""

    k: int  # how many neighbours
    offset: int  # how many of the nearest to pass over
    category: str  # only images of that category
    metadata: Mapping[str, Any]  # only images whose metadata have these members
    max_squared_distance: float  # only images at most that far away
    explain: bool  # whether to say what each squared distance is made of


class FileOptions(Options, total=False):
    """What a search by one picture may say beside."""

    crop: Box  # the part of the picture to search by


def search(file: File, **options: Unpack[FileOptions]) -> Call[SearchAnswer]:
    """The nearest images to a picture that need not be stored."""
    return Call("POST", path_of("search"), json_of(SearchAnswer), data=form(**options), files=[_part("file", file)])


def search_by_id(image_id: str, **options: Unpack[FileOptions]) -> Call[SearchAnswer]:
    """The nearest images to a stored one, which is left out."""
    return _search("image", image_id=image_id, **options)


def search_by_examples(
    positives: Iterable[str], negatives: Iterable[str] = (), **options: Unpack[Options]
) -> Call[SearchAnswer]:
    """More like the positives, less like the negatives: ids of images, or query ids of earlier searches by upload."""
    return _search("examples", positives=list(positives), negatives=list(negatives), **options)


def search_by_url(url: str, **options: Unpack[FileOptions]) -> Call[SearchAnswer]:
    """The nearest images to a picture elsewhere, if the service may fetch from there."""
    return _search("url", url=url, **options)


def search_batch(queries: Iterable[ImageQuery | ExamplesQuery | UrlQuery]) -> Call[SearchBatchAnswer]:
    """Up to 64 searches in one call, answered in their order; one that fails fails alone."""
    body = {"queries": [query.model_dump(exclude_unset=True) for query in queries]}
    return Call("POST", path_of("search", "batch"), json_of(SearchBatchAnswer), json=body)


def search_files(files: Iterable[File], **options: Unpack[FileOptions]) -> Call[SearchBatchAnswer]:
    """Up to 64 searches by upload in one call, all with the same options; one that fails fails alone."""
    parts = [_part("files", file) for file in files]
    return Call("POST", path_of("search", "batch"), json_of(SearchBatchAnswer), data=form(**options), files=parts)


def _search(by: str, **query: Any) -> Call[SearchAnswer]:
    if isinstance(query.get("crop"), Box):
        query["crop"] = query["crop"].model_dump()
    return Call("POST", path_of("search"), json_of(SearchAnswer), json={"by": by, **query})


def _part(field: str, file: File) -> tuple[str, tuple[str, bytes]]:
    return field, file_part(file)
