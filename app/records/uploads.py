"""Files that were uploaded for a job."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

__all__ = ["BatchFile", "SpooledFile", "SpooledFiles"]


@dataclass(frozen=True)
class BatchFile:
    """A file of a batch and what the client says about it, unchecked."""

    name: str  # for people
    file: IO[bytes]
    id: str | None = None
    category: str | None = None
    metadata: str | None = None  # JSON text


@dataclass(frozen=True)
class SpooledFile:
    """The same, kept, and on this machine's disk while it is worked on."""

    path: Path
    name: str
    id: str | None
    category: str | None
    metadata: str | None


@dataclass(frozen=True)
class SpooledFiles:
    """Those of a job that are still kept, in their order."""

    files: Iterator[SpooledFile]  # each is there when its turn comes
    left: int  # how many these are
    total: int  # how many were written
