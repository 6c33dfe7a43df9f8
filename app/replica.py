"""The thread of a replica that keeps up with the others while the service runs.

It takes over the model that another replica activated, although nobody asks this one for anything, and brings what was
written to an index that has to be fed.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from app.errors import AppError
from app.services.collection import Collection
from app.services.following import followed
from embedding.errors import EmbeddingError

__all__ = ["keeping_up"]

_log = logging.getLogger(__name__)

_PAUSE_S = 1.0


@contextmanager
def keeping_up(collection: Collection) -> Iterator[None]:
    """Keep up while the block runs; nothing where nobody shares the collection."""
    if collection.shared is None:
        yield
        return
    stop = Event()
    thread = Thread(target=_keep_up, args=(collection, stop), name="replica")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        collection.fed_soon.set()
        thread.join()


def _keep_up(collection: Collection, stop: Event) -> None:
    was_well = True
    while not stop.is_set():
        collection.fed_soon.wait(_PAUSE_S if was_well else 0)
        collection.fed_soon.clear()  # before feeding: what is written from now on wakes
        try:
            followed(collection)
            _feed(collection, stop)
            was_well = True
        except (AppError, EmbeddingError) as error:
            if was_well:  # once, not each second
                _log.warning("This replica cannot keep up, it will be tried again: %s", error)
            was_well = False
        except Exception:  # the outermost handler of a thread that must not end for a fault of one turn
            _log.exception("This replica cannot keep up, it will be tried again")
            was_well = False
        if not was_well:
            stop.wait(_PAUSE_S)


def _feed(collection: Collection, stop: Event) -> None:
    """One replica at a time: what is written later must not be brought earlier."""
    if collection.shared is None:
        return
    with collection.turns.taken("feed") as taken:
        while taken and not stop.is_set() and collection.shared.feed():
            pass
