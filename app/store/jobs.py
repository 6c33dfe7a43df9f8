"""The tables of jobs and of what failed in them. Implements `app.ports.Jobs`; what trainers do is `learn_jobs`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, insert, or_, select, update
from sqlalchemy.sql import ColumnElement

from app.errors import UnknownJob, shown
from app.records import LEARN, JobFailure, JobProgress, JobRecord, JobState
from app.store.database import Database
from app.store.rows import blocks, can_be_stored
from app.store.tables import job_failures, jobs

__all__ = ["ALL_OF_A_JOB", "FOLLOWS", "UNFINISHED", "SqlJobs", "change_jobs", "job_of", "require_job"]

FOLLOWS = "follows"  # in the payload of a job: id of the learn job that it is a part of

_FAILURES_AT_ONCE = 1000  # read together: no transaction stays open while a slow client reads
UNFINISHED = jobs.c.state.in_(("waiting", "running"))
_NOTHING_DONE = asdict(JobProgress())
_OF_THE_ATTEMPT = {"runner", "heard", "losses"}
ALL_OF_A_JOB = [column for column in jobs.c if column.name not in _OF_THE_ATTEMPT]


class SqlJobs:
    def __init__(self, database: Database):
        self._database = database

    def add(self, job_id: str, kind: str, payload: Mapping[str, Any], now: datetime) -> JobRecord:
        row = {"id": job_id, "kind": kind, "state": "waiting", "payload": dict(payload), "created": now}
        with self._database.writing() as connection:
            connection.execute(insert(jobs).values(row | _NOTHING_DONE))
            return require_job(connection, job_id)

    def get(self, job_id: str) -> JobRecord:
        with self._database.reading() as connection:
            return require_job(connection, job_id)

    def page(self, limit: int, *, after: int = 0) -> list[JobRecord]:
        query = select(*ALL_OF_A_JOB).where(jobs.c.seq > after).order_by(jobs.c.seq).limit(limit)
        with self._database.reading() as connection:
            return [job_of(row) for row in connection.execute(query)]

    def next(self) -> JobRecord | None:
        first = select(*ALL_OF_A_JOB).where(UNFINISHED, jobs.c.kind != LEARN).order_by(jobs.c.seq).limit(1)
        with self._database.reading() as connection:
            row = connection.execute(first).one_or_none()
        return job_of(row) if row else None

    def last(self, kind: str) -> JobRecord | None:
        newest_first = select(*ALL_OF_A_JOB).where(jobs.c.kind == kind).order_by(jobs.c.seq.desc())
        with self._database.reading() as connection:
            row = connection.execute(newest_first.limit(1)).one_or_none()
        return job_of(row) if row else None

    def unfinished(self, kind: str | None = None) -> set[str]:
        query = select(jobs.c.id).where(UNFINISHED)
        with self._database.reading() as connection:
            return set(connection.scalars(query if kind is None else query.where(jobs.c.kind == kind)))

    def states(self, job_ids: Iterable[str]) -> dict[str, JobState]:
        found: dict[str, JobState] = {}
        with self._database.reading() as connection:
            for block in blocks(filter(can_be_stored, job_ids)):
                for row in connection.execute(select(jobs.c.id, jobs.c.state).where(jobs.c.id.in_(block))):
                    found[row.id] = row.state
        return found

    def start(self, job_id: str, runner: str, now: datetime) -> bool:
        values = _NOTHING_DONE | {"state": "running", "started": now, "runner": runner}
        with self._database.writing() as connection:
            is_there = bool(change_jobs(connection, values, jobs.c.id == job_id, UNFINISHED))
            if is_there:
                connection.execute(delete(job_failures).where(job_failures.c.job_id == job_id))
            return is_there

    def record(
        self, job_id: str, runner: str, progress: JobProgress, failures: Sequence[JobFailure] = ()
    ) -> Literal["kept", "cancelled", "replaced"]:
        with self._database.writing() as connection:
            if not change_jobs(connection, asdict(progress), *_is_of(job_id, runner), jobs.c.state == "running"):
                return "replaced" if _is_replaced(connection, job_id, runner) else "cancelled"
            if failures:
                connection.execute(insert(job_failures), [asdict(each) | {"job_id": job_id} for each in failures])
            return "kept"

    def finish(self, job_id: str, runner: str, state: JobState, progress: JobProgress, now: datetime) -> bool:
        values = asdict(progress) | {"state": state, "finished": now}
        was_done_all_the_same = (jobs.c.state == "cancelled") & (state == "done")
        with self._database.writing() as connection:
            wanted = or_(jobs.c.state == "running", was_done_all_the_same)
            return bool(change_jobs(connection, values, *_is_of(job_id, runner), wanted)) or not _is_replaced(
                connection, job_id, runner
            )

    def cancel(self, job_id: str, now: datetime) -> JobRecord:
        with self._database.writing() as connection:
            require_job(connection, job_id)
            for each in (job_id, *_following(connection, job_id)):
                change_jobs(connection, {"state": "cancelled", "finished": now}, jobs.c.id == each, UNFINISHED)
            return require_job(connection, job_id)

    def failures(self, job_id: str) -> Iterator[JobFailure]:
        last = 0
        while rows := self._failure_rows(job_id, last):
            for row in rows:
                yield JobFailure(row.name, row.code, row.detail)
            last = rows[-1].seq

    def delete_finished(self, before: datetime) -> list[str]:
        old = select(jobs.c.id).where(~UNFINISHED, jobs.c.finished < before)
        with self._database.writing() as connection:
            ids = list(connection.scalars(old.order_by(jobs.c.seq)))
            connection.execute(delete(job_failures).where(job_failures.c.job_id.in_(old)))
            connection.execute(delete(jobs).where(jobs.c.id.in_(old)))
            return ids

    def _failure_rows(self, job_id: str, after: int) -> Sequence[Row[Any]]:
        wanted = (job_failures.c.job_id == job_id, job_failures.c.seq > after)
        query = select(job_failures).where(*wanted).order_by(job_failures.c.seq).limit(_FAILURES_AT_ONCE)
        with self._database.reading() as connection:
            return connection.execute(query).all()


def _following(connection: Connection, job_id: str) -> list[str]:
    """Jobs that are a part of that one. At most a hundred are not finished."""
    rows = connection.execute(select(jobs.c.id, jobs.c.payload).where(UNFINISHED))
    return [row.id for row in rows if row.payload.get(FOLLOWS) == job_id]


def _is_replaced(connection: Connection, job_id: str, runner: str) -> bool:
    return connection.scalar(select(jobs.c.seq).where(jobs.c.id == job_id, jobs.c.runner != runner)) is not None


def _is_of(job_id: str, runner: str) -> tuple[ColumnElement[bool], ...]:
    return jobs.c.id == job_id, jobs.c.runner == runner


def change_jobs(connection: Connection, values: Mapping[str, Any], *wanted: ColumnElement[bool]) -> int:
    """How many jobs were as wanted, and are changed."""
    return connection.execute(update(jobs).where(*wanted).values(**values)).rowcount


def require_job(connection: Connection, job_id: str) -> JobRecord:
    """Raises: UnknownJob."""
    wanted = jobs.c.id == (job_id if can_be_stored(job_id) else "")
    row = connection.execute(select(*ALL_OF_A_JOB).where(wanted)).one_or_none()
    if row is None:
        raise UnknownJob(f"There is no job {shown(job_id)} (any more): GET /v1/jobs lists those there are.")
    return job_of(row)


def job_of(row: Row[Any]) -> JobRecord:
    """A row of `ALL_OF_A_JOB`."""
    return JobRecord(**row._mapping)
