"""Where the bytes of originals and thumbnails lie."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol

from app.records import (
    BlobName,
)

__all__ = ["Blobs", "FileDeletion"]


class Blobs(Protocol):
    """Files named by the sha256 of their content: originals and thumbnails."""

    def put(self, sha256: str, content: bytes) -> None:
        """Keep the content; when this returns it survives a power cut. Does nothing if all of it is there."""

    def ping(self) -> None:
        """Raises: StoreUnavailable if the store cannot be reached."""

    def holds(self, sha256: str) -> bool:
        """Whether there is a file of that name."""

    def open(self, sha256: str) -> BinaryIO:
        """A file to read from the start, whose content is what its name says; it stays readable if deleted meanwhile.

        Raises: MissingFile, also for content that is not what it was.
        """

    def delete(self, sha256: str) -> None:
        """Remove it; does nothing if it is not there."""

    def listing(self) -> Iterator[list[BlobName]]:
        """Everything that lies there, in lists of some thousands, also what was not finished."""

    def delete_partial(self, name: str) -> None:
        """Remove what a killed writer left; does nothing if it is not there."""


class FileDeletion(Protocol):
    """Who may delete files: nobody, while they are copied."""

    def allowed(self) -> AbstractContextManager[bool]:
        """While the block runs: True, and nobody begins to copy; or False, because somebody does."""
