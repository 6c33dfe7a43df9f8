"""Trouble with a folder that an operator named, in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.errors import CannotStart

__all__ = ["writing_into"]


@contextmanager
def writing_into(folder: Path) -> Iterator[None]:
    """Raises: CannotStart for whatever the file system refuses: permission, a full disk."""
    try:
        yield
    except OSError as error:
        raise CannotStart(f"{error.filename or folder} cannot be used: {error.strerror or error}.") from error
