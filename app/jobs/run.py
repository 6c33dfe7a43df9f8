"""One attempt at a job: what it is to do, how far it is, whether it should leave off."""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from app.records import JobFailure, JobProgress, JobRecord
from app.services.collection import Collection
from app.services.fields import readable_detail

__all__ = ["Cancelled", "Interrupted", "Run"]

_WRITTEN_EVERY_S = 1.0  # a commit costs milliseconds, and nobody asks more often


class Interrupted(Exception):
    """The service stops, or another one has taken the job over: it is done from its start."""


class Cancelled(Exception):
    """Somebody cancelled the job."""


class Run:
    """What a kind's function works with. Every method that says so ends the work by raising Interrupted or Cancelled,
    so it is called between batches, where that leaves nothing half done."""

    def __init__(self, collection: Collection, job: JobRecord, stopped: Callable[[], bool]):
        self.collection = collection
        self.job_id = job.id
        self.runner = uuid.uuid4().hex
        self.payload: Mapping[str, Any] = job.payload
        self._stopped = stopped
        self._progress = JobProgress()
        self._written = time.monotonic()

    def expect(self, total: int) -> None:
        """How many pieces there are. Raises: Interrupted, Cancelled."""
        self._progress = replace(self._progress, total=total)
        self._write()

    def advance(self, done: int = 1) -> None:
        """So many more went well. Raises: Interrupted, Cancelled."""
        self.is_at(self._progress.done + done)

    def is_at(self, done: int) -> None:
        """So many went well. Raises: Interrupted, Cancelled."""
        self._progress = replace(self._progress, done=done)
        if self._stopped():
            raise Interrupted
        if time.monotonic() >= self._written + _WRITTEN_EVERY_S:
            self._write()

    def fail(self, failure: JobFailure) -> None:
        """A piece did not go well, which is written down at once. Raises: Interrupted, Cancelled."""
        self._progress = replace(self._progress, failed=self._progress.failed + 1)
        self._write(failure)

    def check(self) -> None:
        """Ask now whether to go on. Raises: Interrupted, Cancelled."""
        self._write()

    def note(self, detail: str) -> None:
        """Tell people why it does not go on. Raises: Cancelled."""
        self._progress = replace(self._progress, detail=readable_detail(detail))
        self._write()

    def finish(self, state: Literal["done", "failed"], detail: str) -> None:
        """The end of it. Raises: Interrupted if another replica goes on with it, as after a long outage."""
        progress = replace(self._progress, detail=readable_detail(detail))
        if not self.collection.repository.jobs.finish(self.job_id, self.runner, state, progress, datetime.now(UTC)):
            raise Interrupted

    def _write(self, *failures: JobFailure) -> None:
        if self._stopped():
            raise Interrupted
        match self.collection.repository.jobs.record(self.job_id, self.runner, self._progress, failures):
            case "cancelled":
                raise Cancelled
            case "replaced":
                raise Interrupted
        self._written = time.monotonic()
