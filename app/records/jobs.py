"""Long work."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

__all__ = ["LEARN", "JobFailure", "JobProgress", "JobRecord", "JobState", "LearnProgress", "LearnResult"]

LEARN = "learn"  # kind of the jobs that a trainer does; all others the service does itself

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
    phase: str | None = None  # of a learn job: what is being done now, in words
    seconds_left: float | None = None
    result: Mapping[str, Any] | None = None  # a `LearnResult` as JSON


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


@dataclass(frozen=True)
class LearnProgress:
    """How far a trainer is."""

    phase: str
    share: float  # of the whole, 0 to 1
    seconds_left: float | None = None
    detail: str | None = None  # for people


@dataclass(frozen=True)
class LearnResult:
    """What came of a learn job."""

    taken: bool  # whether its model took over
    model: str | None  # version of the model that was made, if one was
    verdict: str | None  # of the comparison with the one that was active
    marks: Mapping[str, int]  # how far it has learned: the numbers of the newest verdict and the like that it knew
