"""The thread that keeps house while the service runs: at its start, once in a while, and soon after it is asked to."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from app.errors import StoreUnavailable
from app.services.collection import Collection
from app.services.housekeeping import keep_house
from app.services.indexing import save_snapshot
from embedding.errors import BadFeatures
from embedding.process import give_back_freed_memory

__all__ = ["housekeeping"]

_log = logging.getLogger(__name__)

_SOON_S = 60.0  # what was in the way, a backup or a full disk, takes longer than a moment

_RETURN_S = 60.0  # between two times that freed memory goes back to the system: making room again costs milliseconds


@contextmanager
def housekeeping(collection: Collection, interval_s: float) -> Iterator[None]:
    """Keep house while the block runs; afterwards keep what the index holds for the next start."""
    stop = Event()
    thread = Thread(target=_keep_house, args=(collection, interval_s, time.time(), stop), name="housekeeping")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        _try("The index could not be kept, so the next start takes longer", save_snapshot, collection)


def _keep_house(collection: Collection, interval_s: float, started: float, stop: Event) -> None:
    next_time = next_return = started
    while True:
        if time.time() >= next_time:
            collection.sweep_soon.clear()
            if not _try(
                "Housekeeping could not be done, it will be tried again", _keep, collection, started, stop.is_set
            ):
                collection.sweep_soon.set()
            next_time = time.time() + interval_s
        if collection.sweep_soon.is_set():
            next_time = min(next_time, time.time() + _SOON_S)
        if time.time() >= next_return:
            give_back_freed_memory()
            next_return = time.time() + _RETURN_S
        if stop.wait(min(1.0, interval_s)):
            return


def _keep(collection: Collection, started: float, stopped: Callable[[], bool]) -> None:
    """One replica at a time keeps house."""
    with collection.turns.taken("housekeeping") as taken:
        if taken:
            keep_house(collection, started, stopped)


def _try(trouble: str, job: Callable[..., None], *arguments: object) -> bool:
    """Whether it went well. The outermost handler of a thread that must not end for a fault of one turn."""
    try:
        job(*arguments)
    except (StoreUnavailable, BadFeatures) as error:
        _log.warning("%s: %s", trouble, error)
    except Exception:
        _log.exception(trouble)
    else:
        return True
    return False
