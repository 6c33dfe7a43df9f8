"""Uploaded files that a job adds later: they are on disk before the job is, in a folder that has its id.

Names that clients gave are written into a list, never used as paths.
"""

import io
import json
import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from app.errors import StoreUnavailable
from embedding.durable import flush_folder

__all__ = [
    "BatchFile",
    "SpooledFile",
    "discard_file",
    "discard_spool",
    "read_spool",
    "spooled_jobs",
    "write_spool",
]

_log = logging.getLogger(__name__)

_LIST = "list.json"


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
    """The same, on disk."""

    path: Path
    name: str
    id: str | None
    category: str | None
    metadata: str | None


def write_spool(spool: Path, job_id: str, files: Sequence[BatchFile]) -> None:
    """When this returns, all of them survive a crash; if it raises, none is kept. Raises: StoreUnavailable."""
    folder = spool / job_id
    try:
        with _as_unavailable():
            folder.mkdir(parents=True)
            flush_folder(spool.parent)
            for number, each in enumerate(files):
                _write(folder / f"{number:06}", each.file)
            listed = [{"name": each.name, "id": each.id, "category": each.category, "metadata": each.metadata}
                      for each in files]  # fmt: skip
            _write(folder / _LIST, io.BytesIO(json.dumps(listed).encode()))
            flush_folder(folder)
            flush_folder(spool)
    except BaseException:
        discard_spool(spool, job_id)
        raise


def read_spool(spool: Path, job_id: str) -> tuple[list[SpooledFile], int]:
    """What was written and not discarded since, in its order, and how many files were written.

    Raises: StoreUnavailable, FileNotFoundError if there is no such folder.
    """
    folder = spool / job_id
    try:
        listed: list[dict[str, Any]] = json.loads((folder / _LIST).read_text(encoding="utf-8"))
        there = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        raise
    except OSError as error:  # a disk that fails for a moment, too many open files
        raise StoreUnavailable(f"The uploaded files cannot be read: {error.strerror or error}.") from error
    numbered = [(f"{number:06}", each) for number, each in enumerate(listed)]
    return [SpooledFile(folder / name, **each) for name, each in numbered if name in there], len(listed)


def discard_spool(spool: Path, job_id: str) -> None:
    """Remove the files of a job, if there are any. What cannot be removed is left to the next start."""
    try:
        shutil.rmtree(spool / job_id)
    except FileNotFoundError:
        return
    except OSError as error:
        _log.warning("The uploaded files of job %s could not be removed, the next start will: %s", job_id, error)


def discard_file(path: Path) -> None:
    """Remove one of them, whose picture is stored: done again from its start, its job must not bring back what was
    deleted since. Raises: StoreUnavailable."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"An uploaded file cannot be removed: {error.strerror or error}.") from error


def spooled_jobs(spool: Path) -> list[str]:
    """Ids of the jobs that files lie there for, also of those that are not in the database yet."""
    return [folder.name for folder in spool.iterdir()] if spool.is_dir() else []


def _write(path: Path, content: IO[bytes]) -> None:
    content.seek(0)
    with path.open("xb") as file:
        shutil.copyfileobj(content, file)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except OSError as error:  # disk full, no permission
        raise StoreUnavailable(f"The data folder cannot take the files: {error.strerror or error}.") from error
