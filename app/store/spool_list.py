"""How uploaded files of a job are named, and the list of what the client said of them. It is written last."""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from app.records import BatchFile

__all__ = ["LIST", "file_name", "files_listed", "list_of", "log_left_over"]

_log = logging.getLogger(__name__)

LIST = "list.json"


def file_name(number: int) -> str:
    """The name of a file by its place in the batch."""
    return f"{number:06}"


def list_of(files: Sequence[BatchFile]) -> bytes:
    """The content of the list."""
    said = [{"name": f.name, "id": f.id, "category": f.category, "metadata": f.metadata} for f in files]
    return json.dumps(said).encode()


def files_listed(content: bytes) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and what was said of each file. Raises: ValueError for what is no list."""
    return [(file_name(number), said) for number, said in enumerate(json.loads(content))]


def log_left_over(job_id: str, error: Exception) -> None:
    """Tell people of files that could not be removed."""
    _log.warning("The uploaded files of job %s could not be removed, a later start will: %s", job_id, error)
