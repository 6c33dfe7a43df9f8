"""Files that are there whole or not at all, whatever happens in between."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["PARTIAL", "flush_folder", "write_whole", "writing_whole"]

PARTIAL = ".partial"  # how the name ends of what a crash in the middle leaves


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the final name, flush to disk, rename, flush the folder; makes the folder if need be.

    A crash or a full disk leaves the old file or the new one, and nothing beside it but for a crash in the middle.
    """
    with writing_whole(path) as file:
        file.write(content)


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """The same for a file that is written piece by piece; if the block raises, the old file stays."""
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        flush_folder(path.parent.parent)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{PARTIAL}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make what was renamed or made in a folder durable. Windows cannot open folders, and does so by itself."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
