"""Who may do what, where several threads and processes could."""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

from app.records import FileDeletions, Turn

__all__ = ["Change", "FileDeletion", "Turns"]


class Change(Protocol):
    """Held while database, blobs and index change together. One thread at a time, of all that share the collection.

    Where they share it through a database server, everything that the thread reads and writes there while it holds this
    is one transaction, which is on disk when the block ends and undone if it raises.
    """

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> object: ...


class FileDeletion(Protocol):
    """Who may delete files: nobody, while they are copied. Who puts some learns whether any were deleted meanwhile."""

    def allowed(self) -> AbstractContextManager[bool]:
        """While the block runs: True, and nobody begins to copy; or False, because somebody does."""

    def counts(self) -> FileDeletions:
        """How often files were deleted."""

    def begin(self) -> None:
        """Count one more that begins: on disk before the first file goes. Call while it is allowed."""

    def end(self) -> None:
        """Count one more that has ended, with `change` held since before the first file went."""

    def settle(self) -> None:
        """Count those as ended that a killed process began."""


class Turns(Protocol):
    """Work that one of those who share a collection does for all of them."""

    def taken(self, turn: Turn) -> AbstractContextManager[bool]:
        """While the block runs: True, and nobody else has that turn; or False, because somebody has."""
