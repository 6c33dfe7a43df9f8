"""How far an update is, on the command line."""

import sys
import time
from collections.abc import Callable
from threading import Lock
from typing import TextIO

__all__ = ["Terminal"]

_AGAIN_AFTER_S = 5.0  # the same phase, where each time is a line more
_NEW_LINE = "\r\x1b[K"  # to the left, and what stands there away


class Terminal:
    """One line that renews itself on a terminal, plain lines elsewhere. Several threads may use it.

    quiet: show nothing but what is said, for who sees how far it is elsewhere.
    """

    def __init__(
        self, stream: TextIO | None = None, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ):
        self._stream = stream or sys.stdout
        self._renews = self._stream.isatty()
        self._quiet = quiet
        self._clock = clock
        self._lock = Lock()
        self._is_open = False  # whether there is a line to be renewed
        self._last: tuple[str, float] | None = None  # phase and time of the last plain line

    def show(self, phase: str, share: float, seconds_left: float | None) -> None:
        """To be called once a second."""
        if self._quiet:
            return
        line = f"{share:4.0%} {phase}{_left(seconds_left)}"
        with self._lock:
            if self._renews:
                self._write(_NEW_LINE + line)
                self._is_open = True
            elif self._last is None or self._last[0] != phase or self._clock() >= self._last[1] + _AGAIN_AFTER_S:
                self._last = phase, self._clock()
                self._write(line + "\n")

    def say(self, text: str) -> None:
        with self._lock:
            self._write((_NEW_LINE if self._is_open else "") + text + "\n")
            self._is_open = False

    def close(self) -> None:
        """Let the next program begin on a line of its own."""
        with self._lock:
            if self._is_open:
                self._write(_NEW_LINE)
                self._is_open = False

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f", about {minutes}:{rest:02} left" if minutes else f", about {rest} s left"
