"""The thread that looks after learn jobs while the service runs."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

from app.errors import AppError, LeaseLost, StoreUnavailable, UnknownJob
from app.learning.beside import Beside, TrainerProcess
from app.learning.schedule import Schedule
from app.services.collection import Collection
from app.services.jobs import get_job
from app.services.learning import ask_to_learn, claim_for_own, end, give_back, lose_own, lose_silent, note_look

__all__ = ["Attendant", "attending"]

_log = logging.getLogger(__name__)

_LOOK_S, _LOOK_AT_PROCESS_S = 2.0, 0.5
_SCHEDULE_EVERY = timedelta(seconds=5)
_TIDY_UP = timedelta(seconds=30)  # for a trainer that has said what came of the job, and still runs


class Attendant:
    """What the thread does in one turn: jobs of trainers that went away, a job that is due, the process beside."""

    def __init__(self, collection: Collection, beside: Beside | None, schedule: Schedule):
        self._collection = collection
        self._beside = beside
        self._schedule = schedule
        self._process: TrainerProcess | None = None
        self._looked = datetime.min.replace(tzinfo=UTC)  # at the schedule
        self._over: datetime | None = None  # when the process's job was found to be

    @property
    def wait_s(self) -> float:
        """Until the next turn, unless something happens."""
        return _LOOK_AT_PROCESS_S if self._process else _LOOK_S

    def turn(self) -> None:
        """Raises: AppError."""
        lose_silent(self._collection)
        if self._collection.learning.has_trainer and self._collection.shared:
            note_look(self._collection)  # so that the other replicas know
        self._attend()
        if self._process is None and self._beside and self._beside.url:
            self._begin(self._beside)
        if datetime.now(UTC) >= self._looked + _SCHEDULE_EVERY:
            self._looked = datetime.now(UTC)
            self._ask_if_due()

    def leave(self) -> None:
        """The service stops: end the process, and let another one do its job later. Raises: AppError."""
        if process := self._process:
            self._process = None
            process.end()
            with suppress(LeaseLost, UnknownJob):  # it was over, or another trainer does it
                give_back(self._collection, process.learning.job.id, process.learning.lease)

    def _begin(self, beside: Beside) -> None:
        claimed = claim_for_own(self._collection)
        if claimed is None:
            return
        job, lease = claimed
        try:
            self._process, self._over = beside.start(job, lease), None
            _log.info("Learn job %s: a trainer was started beside this service.", job.id)
        except OSError as error:
            end(self._collection, job.id, lease, "failed", f"The trainer could not be started: {error}.")

    def _attend(self) -> None:
        """Look whether the process is still of use, or has ended."""
        process = self._process
        if process is None:
            return
        if process.has_ended():
            self._bury(process)
        elif self._should_end(process):
            self._process = None
            process.end()

    def _bury(self, process: TrainerProcess) -> None:
        """Mostly it has said what came of the job; if not, it died, and so might another one."""
        self._process, why, learning = None, process.end(), process.learning
        try:
            if get_job(self._collection, learning.job.id).state in ("waiting", "running"):
                end(self._collection, learning.job.id, learning.lease, "failed", why)
        except (LeaseLost, UnknownJob):  # another trainer does it by now
            _log.warning("%s", why)

    def _should_end(self, process: TrainerProcess) -> bool:
        """Its job is cancelled, or lost since it hangs; or it does not end although it has said what came of it."""
        learning, now = process.learning, datetime.now(UTC)
        if self._collection.repository.learn_jobs.is_held(learning.job.id, learning.lease):
            return False
        with suppress(UnknownJob):
            if get_job(self._collection, learning.job.id).state in ("done", "failed"):
                self._over = self._over or now
                return now >= self._over + _TIDY_UP
        return True

    def _ask_if_due(self) -> None:
        """One replica at a time: each looks again when the other one has added a job."""
        if self._schedule.failures_before() is None:
            return
        with self._collection.turns.taken("learning") as taken:
            failures = self._schedule.failures_before() if taken else None
            if failures is not None:
                job = ask_to_learn(self._collection, automatic=True, failures=failures)
                _log.info("Enough is new to learn from: job %s.", job.id)


@contextmanager
def attending(collection: Collection, beside: Beside | None, is_stopping: Callable[[], bool]) -> Iterator[None]:
    """Look after learn jobs while the block runs, or until the service begins to stop."""
    try:
        lose_own(collection)
    except StoreUnavailable as error:
        _log.warning("Learn jobs of the former start will be found silent: %s", error)
    stop, attendant = Event(), Attendant(collection, beside, Schedule(collection))
    thread = Thread(target=_attend, args=(collection, attendant, stop, is_stopping), name="learning")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        collection.learning.changed.set()
        thread.join()


def _attend(collection: Collection, attendant: Attendant, stop: Event, is_stopping: Callable[[], bool]) -> None:
    was_well = True
    while not stop.is_set() and not is_stopping():
        was_well = _did(attendant.turn, was_well)
        collection.learning.changed.wait(attendant.wait_s)
        collection.learning.changed.clear()
    _did(attendant.leave, was_well)


def _did(step: Callable[[], None], was_well: bool) -> bool:
    """Whether it went well. The outermost handler of a thread that must not end for a fault of one turn."""
    try:
        step()
    except AppError as error:
        if was_well:  # once, not every two seconds
            _log.warning("Learn jobs are not looked after, it will be tried again: %s", error)
        return False
    except Exception:
        if was_well:
            _log.exception("Learn jobs are not looked after, it will be tried again")
        return False
    return True
