"""Long work: asked for, looked at, cancelled. What does it is `app.jobs`."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.errors import Busy
from app.records import JobFailure, JobRecord
from app.services.collection import Collection
from app.services.cursor import one_page

__all__ = [
    "MAX_UNFINISHED",
    "JobPage",
    "add_job",
    "cancel_job",
    "check_room",
    "discard_needless_files",
    "discard_strays",
    "forget_old_jobs",
    "get_job",
    "job_failures",
    "list_jobs",
    "new_job_id",
]

MAX_UNFINISHED = 100  # jobs; what is uploaded for them waits on disk


@dataclass(frozen=True)
class JobPage:
    jobs: list[JobRecord]
    next: str | None  # cursor of the following page


def new_job_id() -> str:
    return uuid.uuid4().hex


def add_job(collection: Collection, kind: str, payload: Mapping[str, Any], job_id: str | None = None) -> JobRecord:
    """Have it done after those that wait already. When this returns, a crash does not lose it.

    Raises: Busy, StoreUnavailable.
    """
    check_room(collection)
    job = collection.repository.jobs.add(job_id or new_job_id(), kind, payload, datetime.now(UTC))
    collection.job_added.set()
    return job


def check_room(collection: Collection) -> None:
    """Raises: Busy."""
    if len(collection.repository.jobs.unfinished()) >= MAX_UNFINISHED:
        raise Busy(f"{MAX_UNFINISHED} jobs wait already, and no more are taken: ask again when some of them are done.")


def get_job(collection: Collection, job_id: str) -> JobRecord:
    """Raises: UnknownJob."""
    return collection.repository.jobs.get(job_id)


def list_jobs(collection: Collection, limit: int, cursor: str | None) -> JobPage:
    """A page in the order in which they were asked for. Raises: BadLimit, BadCursor."""
    return JobPage(*one_page(lambda count, after: collection.repository.jobs.page(count, after=after), limit, cursor))


def job_failures(collection: Collection, job_id: str) -> Iterator[JobFailure]:
    """What did not go well so far. Raises: UnknownJob, at once."""
    get_job(collection, job_id)
    return collection.repository.jobs.failures(job_id)


def cancel_job(collection: Collection, job_id: str) -> JobRecord:
    """Have it left off, between two of its batches; what it did stays done.

    If it is finished already it stays so; the files that are kept of one that failed are removed.

    Raises: UnknownJob.
    """
    job = collection.repository.jobs.cancel(job_id, datetime.now(UTC))
    collection.learning.changed.set()
    if job.started is None or job.state == "failed":  # nobody reads its files; those of one that ran go in its thread
        collection.spool.discard(job_id)
    return job


def forget_old_jobs(collection: Collection) -> None:
    """Remove those that were finished longer ago than they are kept. Raises: StoreUnavailable."""
    for job_id in collection.repository.jobs.delete_finished(datetime.now(UTC) - collection.job_retention):
        collection.spool.discard(job_id)


def discard_needless_files(collection: Collection) -> None:
    """Remove the uploaded files of jobs that are done or were cancelled; call where no job is being done.

    Raises: StoreUnavailable.
    """
    states = collection.repository.jobs.states(collection.spool.jobs())
    for job_id in (each for each, state in states.items() if state in ("done", "cancelled")):
        collection.spool.discard(job_id)


def discard_strays(collection: Collection) -> None:
    """The same, and those of jobs that never came to be; where this process alone owns the collection, call before
    anybody uploads any. Raises: StoreUnavailable."""
    discard_needless_files(collection)
    spooled = collection.spool.jobs()
    for job_id in set(spooled) - set(collection.repository.jobs.states(spooled)):
        if collection.spool.is_stray(job_id):
            collection.spool.discard(job_id)
