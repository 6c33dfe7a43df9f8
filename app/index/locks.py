"""A readers-writer lock: many searches at once, or one change."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ReadersWriterLock"]


class ReadersWriterLock:
    """A waiting writer goes before new readers, so that a stream of searches cannot starve it. Not reentrant."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers = 0
        self._writing = False
        self._waiting_writers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._writing and not self._waiting_writers)
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._condition:
            self._waiting_writers += 1
            try:
                self._condition.wait_for(lambda: not self._writing and not self._readers)
            finally:
                self._waiting_writers -= 1
                self._condition.notify_all()  # if the wait was broken off, the readers behind it may go on
            self._writing = True
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._condition.notify_all()
