"""The thread that does jobs while the service runs, one after the other, beginning with what a former process left."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from app.errors import StoreUnavailable, Unavailable
from app.jobs.doing import do_next
from app.services.collection import Collection
from app.services.components import ask_for_components
from app.services.jobs import discard_needless_files, discard_strays

__all__ = ["working"]

_log = logging.getLogger(__name__)

_LOOK_S = 1.0  # between two looks for jobs that were asked for through another replica
_PAUSE_S = 5.0  # until a job is tried again that the database or the blob store did not let go on


@contextmanager
def working(collection: Collection) -> Iterator[None]:
    """Do jobs while the block runs. The one that is under way at its end is left off after its batch, to be resumed."""
    _discard_strays(collection)
    ask_for_components(collection)  # a setting has changed, or an attempt failed
    stop = Event()
    thread = Thread(target=_work, args=(collection, stop), name="jobs")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        collection.job_added.set()
        thread.join()


def _discard_strays(collection: Collection) -> None:
    """Files of jobs that never came to be, or whose end was the last thing that a process did."""
    try:
        discard_strays(collection)
    except (OSError, StoreUnavailable) as error:
        _log.warning("Uploaded files that no job needs could not be looked for, the next start will: %s", error)


def _did_one(collection: Collection, stop: Event, *, tidy: bool) -> bool:
    """One job at a time, whichever replica does it."""
    with collection.turns.taken("jobs") as taken:
        if not taken:
            return False
        if tidy:
            discard_needless_files(collection)  # of one that was cancelled while it waited for trouble to end
        return not stop.is_set() and do_next(collection, stop.is_set)


def _work(collection: Collection, stop: Event) -> None:
    has_done_one = True
    while not stop.is_set():
        collection.job_added.clear()  # before looking: what is added from now on wakes
        try:
            has_done_one = _did_one(collection, stop, tidy=has_done_one or collection.shared is None)
            if not has_done_one:
                collection.job_added.wait(_LOOK_S if collection.shared else None)
        except Unavailable as error:
            _log.warning("Jobs wait, they will be tried again: %s", error)
            stop.wait(_PAUSE_S)
        except Exception:  # the outermost handler of a thread that must not end for a fault of one turn
            _log.exception("Jobs could not be done, they will be tried again")
            stop.wait(_PAUSE_S)
