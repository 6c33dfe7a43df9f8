"""Adding many images: batches that the service takes in one request."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.client.calls.call import Call, File, Part, as_json, file_part, json_of, path_of
from app.contract.answers import BatchAnswer

__all__ = ["Upload", "add_images"]

_MAX_FILES = 64  # what is answered with a result per file; of more the service makes a job
_MAX_BYTES = 64 * 2**20  # of a batch's files, in memory at once; a quarter of what the service takes by default


@dataclass(frozen=True)
class Upload:
    """A file that is to be added, and what is said about it."""

    file: File
    id: str | None = None
    category: str | None = None
    metadata: Mapping[str, Any] | None = None

    @property
    def said(self) -> dict[str, Any]:
        fields = {"id": self.id, "category": self.category, "metadata": self.metadata}
        return {name: value for name, value in fields.items() if value is not None}


def add_images(files: Iterable[Upload | File]) -> Iterator[Call[BatchAnswer]]:
    """One call for each batch, made when the one before it is answered; one file that fails fails alone."""
    batch: list[tuple[Part, dict[str, Any]]] = []
    size = 0
    for upload in (each if isinstance(each, Upload) else Upload(each) for each in files):
        part = file_part(upload.file)
        if batch and (len(batch) == _MAX_FILES or size + len(part[1]) > _MAX_BYTES):
            yield _call(batch)
            batch, size = [], 0
        batch.append((part, upload.said))
        size += len(part[1])
    if batch:
        yield _call(batch)


def _call(batch: Sequence[tuple[Part, dict[str, Any]]]) -> Call[BatchAnswer]:
    items = as_json([said for _, said in batch])
    files = [("files", part) for part, _ in batch]
    return Call("POST", path_of("images", "batch"), json_of(BatchAnswer), data={"items": items}, files=files)
