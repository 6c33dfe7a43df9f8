"""Where the bytes of originals and thumbnails lie, and those of uploads that wait for their job."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol

from app.records import BatchFile, BlobName, SpooledFiles

__all__ = ["Blobs", "Spool"]


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


class Spool(Protocol):
    """Uploaded files that a job is to add: kept from before the job's row is until nobody needs them.

    Names that clients gave are written down, and never used as paths.
    """

    def write(self, job_id: str, files: Sequence[BatchFile]) -> None:
        """When this returns, all of them survive a crash; if it raises, none is kept. Raises: StoreUnavailable."""

    def reading(self, job_id: str, going_on: Callable[[], object]) -> AbstractContextManager[SpooledFiles]:
        """What was written for a job and not discarded since, to be read while the block runs.

        going_on: called now and then while files are waited for; what it raises ends the reading.
        Raises: FileNotFoundError if nothing is kept for it, StoreUnavailable, also while the files are gone through.
        """

    def discard_files(self, job_id: str, paths: Sequence[Path]) -> None:
        """Remove some whose pictures are stored, by the paths that `reading` gave: done again from its start, their job
        must not bring back what was deleted since. Does nothing for those that are gone. Raises: StoreUnavailable."""

    def discard(self, job_id: str) -> None:
        """Remove the files of a job, if there are any. What cannot be removed is logged, and left to a later start."""

    def jobs(self) -> list[str]:
        """Ids of the jobs that files are kept for, also of those that are not in the database yet.

        Raises: StoreUnavailable.
        """

    def is_stray(self, job_id: str) -> bool:
        """Of a job that is not in the database: whether it is certain that nobody is about to put it there, so that its
        files may be removed. Raises: StoreUnavailable."""
