"""Long work."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

__all__ = ["JobFailure", "JobProgress", "JobRecord", "JobState"]

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class JobRecord:
    """Long work in the database."""

    id: str
    kind: str
    state: JobState
    payload: Mapping[str, Any]  # what it is to do
    total: int | None
    done: int
    failed: int
    detail: str | None
    created: datetime
    started: datetime | None
    finished: datetime | None
    seq: int  # grows with every job


@dataclass(frozen=True)
class JobProgress:
    """How far a job is."""

    total: int | None = None  # pieces; None: not known yet
    done: int = 0
    failed: int = 0
    detail: str | None = None  # for people


@dataclass(frozen=True)
class JobFailure:
    """A piece of a job that did not go well."""

    name: str
    code: str  # as in a problem document
    detail: str
