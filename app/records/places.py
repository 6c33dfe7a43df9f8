"""Where everything lies."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

__all__ = ["BlobName", "FileDeletions", "Places", "Turn"]


@dataclass(frozen=True)
class Places:
    """Where everything lies; `app.settings` says how to write them."""

    data_dir: Path
    database: str | Path
    blobs: str | Path
    connections: int = 50  # to a database server at most
    shared: bool = False  # by replicas: nothing is kept in the data folder


# What one replica does for all.
Turn = Literal["jobs", "housekeeping", "feed", "learning"]


class FileDeletions(NamedTuple):
    """How often files were begun to be deleted from the blob store, and how often that ended.

    What was put while both were the same, and before either has changed, has not been deleted.
    """

    begun: int
    ended: int


@dataclass(frozen=True)
class BlobName:
    """Something that lies in the blob store."""

    name: str  # of the file, without its folder
    is_partial: bool  # left by a writer that was killed, or just being written
    modified: float | None  # seconds since 1970, where the store knows it
