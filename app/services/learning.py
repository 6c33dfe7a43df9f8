"""Learn jobs: asked for, given to trainers, told about, ended. Who claims one first does it.

The service learns nothing itself. A trainer is a process beside it, or a program anywhere that asks for work over HTTP.
"""

import logging
import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from app.errors import LeaseLost
from app.records import LEARN, JobRecord, LearnProgress, LearnResult
from app.services.collection import Collection
from app.services.fields import readable_detail
from app.services.jobs import check_room, new_job_id

__all__ = [
    "add_part",
    "ask_and_claim",
    "ask_to_learn",
    "claim",
    "claim_for_own",
    "end",
    "give_back",
    "lose_own",
    "lose_silent",
    "marks_of",
    "note_look",
    "report",
    "trainer_is_at_hand",
    "waiting_note",
]

_log = logging.getLogger(__name__)

# A trainer that watches asks each few seconds, and not at all while it learns for somebody else, which takes minutes.
_AT_HAND = timedelta(minutes=5)
_LOOKS_NOTED_EVERY = timedelta(seconds=30)  # a row is written for it

_OWN = "beside-"  # begins the leases of processes that a service started itself


def ask_to_learn(
    collection: Collection, *, force: bool = False, level: str = "head", automatic: bool = False, failures: int = 0
) -> JobRecord:
    """The learn job that is not finished, whoever asked for it and how, else a new one.

    force: have its model take over although it is worse. failures: how many automatic ones failed one after the other
    before this one. Raises: StoreUnavailable.
    """
    payload = _payload(collection, force, level)
    if automatic:
        payload |= {"automatic": True, "failures": failures}
    job = collection.repository.learn_jobs.ask(new_job_id(), payload, datetime.now(UTC))
    collection.learning.changed.set()
    return job


def marks_of(collection: Collection) -> Mapping[str, int]:
    """How far the collection is: what a model that learns from all of it says of itself, by the same names."""
    return asdict(collection.repository.marks())


def claim(collection: Collection) -> tuple[JobRecord, str] | None:
    """A job for the trainer that asks, and the lease under which it has it. None: there is nothing to do."""
    note_look(collection)
    lose_silent(collection)
    lease = secrets.token_hex(16)
    return _with_lease(collection.repository.learn_jobs.claim(lease, datetime.now(UTC)), lease)


def ask_and_claim(collection: Collection, *, force: bool) -> tuple[JobRecord, str] | None:
    """The same, of a new job if there is none; it is given to nobody else. None: another trainer does one."""
    lose_silent(collection)
    payload, lease = _payload(collection, force, "head"), secrets.token_hex(16)
    job = collection.repository.learn_jobs.ask_and_claim(new_job_id(), payload, lease, datetime.now(UTC))
    return _with_lease(job, lease)


def claim_for_own(collection: Collection) -> tuple[JobRecord, str] | None:
    """The same as `claim` for a process that this service starts."""
    lease = _OWN + secrets.token_hex(12)
    return _with_lease(collection.repository.learn_jobs.claim(lease, datetime.now(UTC)), lease)


def report(collection: Collection, job_id: str, lease: str, progress: LearnProgress) -> Literal["running", "cancelled"]:
    """Note how far a trainer is, and tell it whether to go on. Raises: UnknownJob, LeaseLost."""
    detail = None if progress.detail is None else readable_detail(progress.detail)
    told = replace(progress, phase=readable_detail(progress.phase), detail=detail)
    state = collection.repository.learn_jobs.report(job_id, lease, told, datetime.now(UTC))
    if state == "lost":
        raise _lost(job_id)
    return state


def add_part(collection: Collection, job_id: str, lease: str, kind: str, payload: Mapping[str, Any]) -> JobRecord:
    """A job of the service itself, such as the activation of the model that was learned. Cancelling the learn job
    cancels it too, and once that is cancelled there is none. Raises: Busy, UnknownJob, LeaseLost."""
    check_room(collection)
    now = datetime.now(UTC)
    part = collection.repository.learn_jobs.follow(new_job_id(), kind, payload, now, of=job_id, lease=lease)
    if part is None:
        raise _lost(job_id)
    collection.job_added.set()
    return part


def end(
    collection: Collection,
    job_id: str,
    lease: str,
    state: Literal["done", "failed"],
    detail: str,
    result: LearnResult | None = None,
) -> JobRecord:
    """What came of it, in words, and for programs. Raises: UnknownJob, LeaseLost."""
    now = datetime.now(UTC)
    job = collection.repository.learn_jobs.finish(job_id, lease, state, readable_detail(detail), result, now)
    if job is None:
        raise _lost(job_id)
    _log.info("Learn job %s is %s: %s", job.id, job.state, job.detail)
    collection.learning.changed.set()
    return job


def give_back(collection: Collection, job_id: str, lease: str) -> JobRecord:
    """Its trainer has to leave; another one may do it from its start. Raises: UnknownJob, LeaseLost."""
    job = collection.repository.learn_jobs.give_back(job_id, lease)
    if job is None:
        raise _lost(job_id)
    collection.learning.changed.set()
    return job


def lose_silent(collection: Collection) -> None:
    """Give the jobs of trainers that went away to others. After a start each has the whole time to be heard."""
    rules, now = collection.learning, datetime.now(UTC)
    if now >= rules.opened + rules.lease:
        _told(collection.repository.learn_jobs.lose_silent(now - rules.lease, now))


def lose_own(collection: Collection) -> None:
    """The same at a start for those whose trainer a former process of this service started. Replicas know nothing of
    each other's: theirs are found silent. Raises: StoreUnavailable."""
    if collection.shared is None:
        _told(collection.repository.learn_jobs.lose_of(_OWN, datetime.now(UTC)))


def note_look(collection: Collection) -> None:
    """A trainer has asked for work, or there is one beside this process."""
    rules, now = collection.learning, datetime.now(UTC)
    if rules.look_noted is None or now >= rules.look_noted + _LOOKS_NOTED_EVERY:
        collection.repository.learn_jobs.looked(now)
        rules.look_noted = now


def trainer_is_at_hand(collection: Collection) -> bool:
    """Whether somebody would do a job that is asked for now."""
    if collection.learning.has_trainer:
        return True
    last = collection.repository.learn_jobs.last_look()
    return last is not None and datetime.now(UTC) < last + _AT_HAND


def waiting_note(collection: Collection, job: JobRecord, url: str) -> str | None:
    """What somebody who waits for the job should do. url: by which they reach the service."""
    if job.kind != LEARN or job.state != "waiting" or trainer_is_at_hand(collection):
        return None
    return (
        f"It waits for a trainer: start `trainer update --watch --server {url}` on any machine that has it, with an "
        "admin's key in SAMEKIND_KEY if there are keys."
    )


def _with_lease(job: JobRecord | None, lease: str) -> tuple[JobRecord, str] | None:
    return None if job is None else (job, lease)


def _payload(collection: Collection, force: bool, level: str) -> dict[str, Any]:
    return {"force": force, "level": level, "marks": dict(marks_of(collection))}


def _told(lost: list[JobRecord]) -> None:
    for job in lost:
        _log.warning("Learn job %s is %s: %s", job.id, job.state, job.detail)


def _lost(job_id: str) -> LeaseLost:
    return LeaseLost(
        f"The learn job {job_id} is not done under this lease any more: it is over, or another trainer has it, since "
        "this one was silent for too long. Leave off, and claim a job again."
    )
