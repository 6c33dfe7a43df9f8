"""Tells the service, and a person, how far a learn job is; and leaves off when it should."""

import _thread
import time
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

from app.client import (
    Conflict,
    ConnectionFailed,
    Forbidden,
    NotFound,
    Samekind,
    SamekindError,
    TooManyRequests,
    Unauthenticated,
)
from trainer.update.reporter import LeftOff
from trainer.update.service import Lease
from trainer.update.terminal import Terminal

__all__ = ["JobReporter"]

_EACH_S = 1.0  # to the terminal, and to the job if something is new
_MOST_SILENT_S = 10.0
_BUSY_S = 15.0  # between two words to a service that says that it is too much
_LEAST_SHARE = 0.02  # what less has taken says nothing about the rest
_WAIT_S = 5.0  # for the work to come to a place where it can be left off
_GONE_S = 15.0  # that nothing listens where our own service was

_NOT_OURS = (Conflict, Forbidden, NotFound, Unauthenticated)


class JobReporter:
    """A `Reporter` while the block runs, on the thread that does the work.

    dies_with_service: end the work when nothing listens there any more, as where the service has started this process.
    """

    def __init__(self, teller: Samekind, lease: Lease, terminal: Terminal, *, dies_with_service: bool = False):
        self.left_off: LeftOff | None = None  # why the work is to be left off
        self._teller = teller
        self._lease = lease
        self._terminal = terminal
        self._dies_with_service = dies_with_service
        self._at = _Place("starting", 0.0, time.monotonic(), None)
        self._begun = time.monotonic()
        self._pause_s = _MOST_SILENT_S  # at most, between two words
        self._stop = Event()
        self._leaving = Lock()
        self._thread = Thread(target=self._tell, name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._leaving:
            self._stop.set()
        self._thread.join()
        self._terminal.close()

    def at(self, phase: str, share: float) -> None:
        if self.left_off:
            raise self.left_off
        now, share = time.monotonic(), min(max(share, 0.0), 1.0)
        left_s = (now - self._begun) / share * (1 - share) if share >= _LEAST_SHARE else None
        self._at = _Place(phase, share, now, left_s)

    def say(self, text: str) -> None:
        self._terminal.say(text)

    def _tell(self) -> None:
        told, told_at, gone_since = None, 0.0, None
        while not self._stop.wait(0 if told is None else _EACH_S):
            now, place = time.monotonic(), self._at
            self._terminal.show(place.phase, place.share, place.left_s(now))
            if place is told and now < told_at + self._pause_s:
                continue
            told, told_at = place, now
            is_there = self._told(place, now)
            gone_since = None if is_there else gone_since or now
            if self._dies_with_service and gone_since is not None and now >= gone_since + _GONE_S:
                self.left_off = LeftOff("The service that has started this trainer is gone.")
            if self.left_off:
                self._leave()
                return

    def _told(self, place: "_Place", now: float) -> bool:
        """Whether somebody listens there."""
        lease = self._lease
        try:
            answer = self._teller.report_progress(
                lease.job_id, lease.text, place.phase, place.share, seconds_left=place.left_s(now)
            )
        except _NOT_OURS as error:
            self.left_off = LeftOff(str(error))
        except TooManyRequests:
            self._pause_s = _BUSY_S
        except ConnectionFailed as error:
            return error.was_sent
        except SamekindError:  # it may be back soon; that the job is lost it would say
            pass
        else:
            self._pause_s = min(self._pause_s, answer.lease_s / 4)
            if answer.state == "cancelled":
                self.left_off = LeftOff(f"The learn job {lease.job_id} was cancelled.")
        return True

    def _leave(self) -> None:
        """`at` tells the work when it comes there. What does not for a while is interrupted, as by Ctrl-C."""
        if self._stop.wait(_WAIT_S):
            return
        with self._leaving:
            if not self._stop.is_set():
                _thread.interrupt_main()


class _Place:
    """Where the work is. It is not the same as another one, although that may say the same."""

    def __init__(self, phase: str, share: float, since: float, left_s: float | None):
        self.phase, self.share, self._since, self._left_s = phase, share, since, left_s

    def left_s(self, now: float) -> float | None:
        return None if self._left_s is None else max(self._left_s - (now - self._since), 1.0)
