"""Jobs that a trainer does, in the database."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Protocol

from app.records import JobRecord, LearnProgress, LearnResult

__all__ = ["LearnJobs"]


class LearnJobs(Protocol):
    """Learn jobs, of which one at most is not finished, whoever asks. What a method returned is on disk.

    A trainer has a job by its lease, a text of at most 32 characters, and has to say something once in a while. When it
    was silent for too long the job waits again. Its word still counts until another trainer has taken it.
    """

    def ask(self, job_id: str, payload: Mapping[str, Any], now: datetime) -> JobRecord:
        """The one that is not finished, else a new one with that id, which waits."""

    def claim(self, lease: str, now: datetime) -> JobRecord | None:
        """Let the holder of the lease have the one that waits. None: there is none. Each is given to one of those who
        ask at the same time, through whatever process."""

    def ask_and_claim(self, job_id: str, payload: Mapping[str, Any], lease: str, now: datetime) -> JobRecord | None:
        """Both in one step, so that nobody else takes a new one between. None: another trainer has one."""

    def report(
        self, job_id: str, lease: str, progress: LearnProgress, now: datetime
    ) -> Literal["running", "cancelled", "lost"]:
        """Say how far it is. lost: it is another trainer's, or over. Raises: UnknownJob."""

    def finish(
        self,
        job_id: str,
        lease: str,
        state: Literal["done", "failed"],
        detail: str,
        result: LearnResult | None,
        now: datetime,
    ) -> JobRecord | None:
        """The end; the same again changes nothing. What was cancelled stays so, unless it was done all the same. None:
        it is another trainer's. Raises: UnknownJob."""

    def give_back(self, job_id: str, lease: str) -> JobRecord | None:
        """Let it wait for another trainer; nobody is to blame. None: it is another's by now. Raises: UnknownJob."""

    def is_held(self, job_id: str, lease: str) -> bool:
        """Whether it is being done under that lease. False also where there is no such job."""

    def lose_silent(self, before: datetime, now: datetime) -> list[JobRecord]:
        """Let those wait whose trainer was heard last before then; one to which that has happened too often fails."""

    def lose_of(self, lease_prefix: str, now: datetime) -> list[JobRecord]:
        """The same for those whose lease begins so: their trainers are known to be gone."""

    def follow(
        self, job_id: str, kind: str, payload: Mapping[str, Any], now: datetime, *, of: str, lease: str
    ) -> JobRecord | None:
        """A new job that is a part of the learn job `of`, and is cancelled with it. None: that one is not running under
        this lease, and nothing is added. Raises: UnknownJob."""

    def looked(self, now: datetime) -> None:
        """A trainer has asked for work."""

    def last_look(self) -> datetime | None:
        """When one did so last."""
