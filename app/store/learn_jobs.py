"""Jobs that a trainer does, in the table of jobs. Implements `app.ports.LearnJobs`."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, insert, or_, select, update
from sqlalchemy.sql import ColumnElement

from app.records import LEARN, JobProgress, JobRecord, LearnProgress, LearnResult
from app.store.database import Database
from app.store.jobs import ALL_OF_A_JOB, FOLLOWS, UNFINISHED, change_jobs, job_of, require_job
from app.store.tables import jobs, trainer_looks

__all__ = ["MOST_LOSSES", "SqlLearnJobs"]

# What a trainer dies of, such as too little memory, the next one mostly dies of too: each try takes minutes.
MOST_LOSSES = 3

_STEPS = 1000  # that a share is told in
_IS_LEARN = jobs.c.kind == LEARN
_AT_ITS_BEGINNING = asdict(JobProgress()) | {"phase": None, "seconds_left": None}
_WENT_AWAY = "The trainer went away without a word; it waits for the next one."
_TOO_OFTEN = (
    f"The trainer went away {('once', 'twice', 'three times')[MOST_LOSSES - 1]} without a word, as one does that "
)
_TOO_OFTEN += "is killed for want of memory: look at its log, then ask again."


class SqlLearnJobs:
    def __init__(self, database: Database):
        self._database = database

    def ask(self, job_id: str, payload: Mapping[str, Any], now: datetime) -> JobRecord:
        with self._database.writing() as connection:
            unfinished = connection.execute(_jobs(UNFINISHED)).first()
            return job_of(unfinished) if unfinished else _added(connection, job_id, LEARN, payload, now)

    def claim(self, lease: str, now: datetime) -> JobRecord | None:
        with self._database.reading() as connection:  # mostly there is none, and who writes waits for others who do
            if connection.execute(_jobs(jobs.c.state == "waiting")).first() is None:
                return None
        with self._database.writing() as connection:
            return _claimed(connection, lease, now)

    def ask_and_claim(self, job_id: str, payload: Mapping[str, Any], lease: str, now: datetime) -> JobRecord | None:
        with self._database.writing() as connection:
            if connection.execute(_jobs(UNFINISHED)).first() is None:
                _added(connection, job_id, LEARN, payload, now)
            return _claimed(connection, lease, now)

    def report(
        self, job_id: str, lease: str, progress: LearnProgress, now: datetime
    ) -> Literal["running", "cancelled", "lost"]:
        values = {
            "state": "running",
            "heard": now,
            "total": _STEPS,
            "done": int(progress.share * _STEPS),
            "phase": progress.phase,
            "seconds_left": progress.seconds_left,
            "detail": progress.detail,
        }
        with self._database.writing() as connection:
            job = _held(connection, job_id, lease)
            if job and change_jobs(connection, values, jobs.c.id == job_id, UNFINISHED):
                return "running"
            return "cancelled" if job and job.state == "cancelled" else "lost"

    def finish(
        self,
        job_id: str,
        lease: str,
        state: Literal["done", "failed"],
        detail: str,
        result: LearnResult | None,
        now: datetime,
    ) -> JobRecord | None:
        came = None if result is None else _as_json(result)
        values: dict[str, Any] = {"state": state, "finished": now, "detail": detail, "result": came}
        if state == "done":
            values |= {"total": _STEPS, "done": _STEPS}
        was_done_all_the_same = (jobs.c.state == "cancelled") & (state == "done")
        with self._database.writing() as connection:
            if _held(connection, job_id, lease) is None:
                return None
            change_jobs(connection, values | _OVER, jobs.c.id == job_id, or_(UNFINISHED, was_done_all_the_same))
            return require_job(connection, job_id)

    def give_back(self, job_id: str, lease: str) -> JobRecord | None:
        values = _AT_ITS_BEGINNING | {"state": "waiting"}
        with self._database.writing() as connection:
            if _held(connection, job_id, lease) is None:
                return None
            change_jobs(connection, values, jobs.c.id == job_id, UNFINISHED)
            return require_job(connection, job_id)

    def is_held(self, job_id: str, lease: str) -> bool:
        held = _jobs(jobs.c.id == job_id, jobs.c.runner == lease, jobs.c.state == "running")
        with self._database.reading() as connection:
            return connection.execute(held).first() is not None

    def lose_silent(self, before: datetime, now: datetime) -> list[JobRecord]:
        return self._lose(jobs.c.heard < before, now)

    def lose_of(self, lease_prefix: str, now: datetime) -> list[JobRecord]:
        return self._lose(jobs.c.runner.startswith(lease_prefix, autoescape=True), now)

    def follow(
        self, job_id: str, kind: str, payload: Mapping[str, Any], now: datetime, *, of: str, lease: str
    ) -> JobRecord | None:
        with self._database.writing() as connection:
            held = _held(connection, of, lease)
            if held is None or held.state != "running":
                return None
            return _added(connection, job_id, kind, {**payload, FOLLOWS: of}, now)

    def looked(self, now: datetime) -> None:
        with self._database.writing() as connection:
            if not connection.execute(update(trainer_looks).values(at=now)).rowcount:
                connection.execute(insert(trainer_looks).values(id=1, at=now))

    def last_look(self) -> datetime | None:
        with self._database.reading() as connection:
            return connection.scalar(select(trainer_looks.c.at))

    def _lose(self, wanted: ColumnElement[bool], now: datetime) -> list[JobRecord]:
        lost = select(jobs.c.id, jobs.c.losses).where(_IS_LEARN, jobs.c.state == "running", wanted)
        with self._database.reading() as connection:
            if connection.execute(lost).first() is None:
                return []
        with self._database.writing() as connection:
            rows = connection.execute(lost).all()
            for row in rows:
                change_jobs(connection, _after(row.losses + 1, now), jobs.c.id == row.id)
            return [require_job(connection, row.id) for row in rows]


_OVER = {"phase": None, "seconds_left": None}


def _after(losses: int, now: datetime) -> Mapping[str, Any]:
    """What a job is when so many trainers have left it."""
    if losses >= MOST_LOSSES:
        return _OVER | {"losses": losses, "state": "failed", "finished": now, "detail": _TOO_OFTEN}
    return _AT_ITS_BEGINNING | {"losses": losses, "state": "waiting", "detail": _WENT_AWAY}


def _jobs(*wanted: ColumnElement[bool]) -> Any:
    return select(*ALL_OF_A_JOB).where(_IS_LEARN, *wanted).order_by(jobs.c.seq)


def _claimed(connection: Connection, lease: str, now: datetime) -> JobRecord | None:
    found = connection.execute(_jobs(jobs.c.state == "waiting")).first()
    if found is None:
        return None
    values = _AT_ITS_BEGINNING | {"state": "running", "started": now, "heard": now, "runner": lease}
    change_jobs(connection, values, jobs.c.id == found.id)
    return require_job(connection, found.id)


def _added(connection: Connection, job_id: str, kind: str, payload: Mapping[str, Any], now: datetime) -> JobRecord:
    row = {"id": job_id, "kind": kind, "state": "waiting", "payload": dict(payload), "created": now}
    connection.execute(insert(jobs).values(row | asdict(JobProgress())))
    return require_job(connection, job_id)


def _held(connection: Connection, job_id: str, lease: str) -> JobRecord | None:
    """The job, if it is the lease's. Raises: UnknownJob."""
    job = require_job(connection, job_id)
    runner = connection.scalar(select(jobs.c.runner).where(_IS_LEARN, jobs.c.id == job_id))
    return job if runner == lease else None


def _as_json(result: LearnResult) -> dict[str, Any]:
    return asdict(result) | {"marks": dict(result.marks)}
