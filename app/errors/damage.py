"""What lies on disk is not what was put there."""

from app.errors.root import AppError

__all__ = [
    "DamagedSnapshot",
    "MissingFile",
]


class DamagedSnapshot(AppError):
    """What was kept of the index cannot be used. Nobody needs to know but the log: the index is built anew."""


class MissingFile(AppError):
    """An image is in the database, its file is not in the blob store, or not as it was: somebody else was at it."""
