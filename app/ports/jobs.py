"""Long work in the database."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from app.records import JobFailure, JobProgress, JobRecord, JobState

__all__ = ["Jobs"]


class Jobs(Protocol):
    """Long work: what is to be done, how far it is, and what did not go well. What a method returned is on disk."""

    def add(self, job_id: str, kind: str, payload: Mapping[str, Any], now: datetime) -> JobRecord:
        """A new one, which waits."""

    def get(self, job_id: str) -> JobRecord:
        """Raises: UnknownJob."""

    def page(self, limit: int, *, after: int = 0) -> list[JobRecord]:
        """At most `limit` jobs with a seq above `after`, in the order of seq."""

    def next(self) -> JobRecord | None:
        """The first one that is not finished of those that the service does itself, which are all but learn jobs: the
        one that runs, or was running when a process ended, else waits."""

    def last(self, kind: str) -> JobRecord | None:
        """The one of that kind that was asked for last, if it is not forgotten."""

    def unfinished(self, kind: str | None = None) -> set[str]:
        """Ids of all that wait or run, of one kind or of all."""

    def states(self, job_ids: Iterable[str]) -> dict[str, JobState]:
        """Of those of them that there are."""

    def start(self, job_id: str, runner: str, now: datetime) -> bool:
        """Run it from its beginning: nothing is done and nothing has failed. False: it is finished, or gone.

        runner: names this attempt, at most 32 characters; an earlier one that goes on all the same is replaced by it.
        """

    def record(
        self, job_id: str, runner: str, progress: JobProgress, failures: Sequence[JobFailure] = ()
    ) -> Literal["kept", "cancelled", "replaced"]:
        """Say how far it is. Unless kept, nothing was: somebody cancelled it, or another attempt goes on with it."""

    def finish(self, job_id: str, runner: str, state: JobState, progress: JobProgress, now: datetime) -> bool:
        """The end. What was cancelled stays so, unless it was done all the same. False: another attempt goes on."""

    def cancel(self, job_id: str, now: datetime) -> JobRecord:
        """Cancel it unless it is finished, and what follows from it likewise, and say what it is now.

        Raises: UnknownJob.
        """

    def failures(self, job_id: str) -> Iterator[JobFailure]:
        """What did not go well, in the order in which it was recorded."""

    def delete_finished(self, before: datetime) -> list[str]:
        """Forget the jobs that were finished before then, with their failures; returns their ids."""
