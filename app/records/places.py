"""Where everything lies."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["BlobName", "Places"]


@dataclass(frozen=True)
class Places:
    """Where everything lies; `app.settings` says how to write them."""

    data_dir: Path
    database: str | Path
    blobs: str | Path


@dataclass(frozen=True)
class BlobName:
    """Something that lies in the blob store."""

    name: str  # of the file, without its folder
    is_partial: bool  # left by a writer that was killed, or just being written
    modified: float | None  # seconds since 1970, where the store knows it
