"""When learning is due by itself."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from app.records import LEARN, JobRecord
from app.services.collection import Collection
from app.services.learning import marks_of, trainer_is_at_hand
from app.services.marks import new_to_learn

__all__ = ["Schedule", "count_of_new"]

# Longer than people think between two verdicts, and than an import takes for a batch.
_QUIET = timedelta(seconds=10)
# What fails once mostly fails again: after the pause, then after twice as long each time.
_LEAST_BACK_OFF, _LONGEST_BACK_OFF = timedelta(minutes=1), timedelta(days=1)
_MOST_DOUBLINGS = 20


def count_of_new(collection: Collection) -> int:
    """How much nobody has learned from yet, in the unit of SAMEKIND_LEARN_EVERY."""
    return new_to_learn(collection).total


class Schedule:
    """Asked every few seconds whether a job should be added. It knows what it saw at its former looks.

    Learning is due when enough is new, the last job ended long enough ago, and no more has come for some seconds; or
    when more came all the time, for as long as that pause. What a job has seen already, or what somebody cancelled, is
    not learned again before anything changes. A job that failed is tried again, later each time.
    """

    def __init__(self, collection: Collection, clock: Callable[[], datetime] = lambda: datetime.now(UTC)):
        self._collection = collection
        self._clock = clock
        self._marks: Mapping[str, int] | None = None
        self._changed = datetime.min.replace(tzinfo=UTC)  # when the marks did
        self._enough_since: datetime | None = None
        self._count: tuple[object, int] | None = None  # of what is new, and what it holds for

    def failures_before(self) -> int | None:
        """None: nothing is due. Else it is, and so many automatic jobs failed one after the other before it."""
        if not self._collection.learning.every:
            return None
        now, last = self._clock(), self._collection.repository.jobs.last(LEARN)
        marks = self._look(now)
        if not self._may_begin(last, marks, now) or not self._is_enough(last, marks):
            self._enough_since = None
            return None
        self._enough_since = self._enough_since or now
        rests = now >= self._changed + _QUIET or now >= self._enough_since + self._collection.learning.pause
        return _failures(last) if rests and trainer_is_at_hand(self._collection) else None

    def _look(self, now: datetime) -> Mapping[str, int]:
        marks = marks_of(self._collection)
        if self._marks is not None and marks != self._marks:
            self._changed = now
        self._marks = marks
        return marks

    def _may_begin(self, last: JobRecord | None, marks: Mapping[str, int], now: datetime) -> bool:
        if last is None:
            return True
        if last.finished is None:
            return False
        if last.state != "failed" and _knows(last, marks):
            return False
        return now >= last.finished + _wait(self._collection.learning.pause, _failures(last))

    def _is_enough(self, last: JobRecord | None, marks: Mapping[str, int]) -> bool:
        """Counting takes a while where there is much: only when something may have changed."""
        if last is not None and last.state == "failed" and last.payload.get("automatic"):
            return True  # it was enough then
        holds_for = (dict(marks), last and last.id, self._collection.active and self._collection.active.version)
        if self._count is None or self._count[0] != holds_for:
            self._count = holds_for, count_of_new(self._collection)
        return self._count[1] >= self._collection.learning.every


def _knows(job: JobRecord, marks: Mapping[str, int]) -> bool:
    """Whether nothing has come since it began, or none that its trainer did not know."""
    learned = (job.result or {}).get("marks") or {}
    return marks in (job.payload.get("marks"), {name: learned.get(name, 0) for name in marks})


def _failures(last: JobRecord | None) -> int:
    """How many automatic jobs have failed one after the other, up to this one."""
    if last is None or last.state != "failed" or not last.payload.get("automatic"):
        return 0
    return int(last.payload.get("failures", 0)) + 1


def _wait(pause: timedelta, failures: int) -> timedelta:
    if not failures:
        return pause
    doublings = min(failures - 1, _MOST_DOUBLINGS)
    doubled = max(pause, _LEAST_BACK_OFF) * (1 << doublings)
    return min(doubled, max(pause, _LONGEST_BACK_OFF))
