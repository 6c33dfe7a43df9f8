"""Who is told how far an update is, and may have it left off."""

from collections.abc import Callable
from typing import Protocol

from trainer.errors import TrainerError

__all__ = ["LeftOff", "PlainReporter", "Reporter"]


class LeftOff(TrainerError):
    """The update is to be left off: somebody cancelled it, or another trainer does it by now."""


class Reporter(Protocol):
    """What an update speaks to."""

    def at(self, phase: str, share: float) -> None:
        """What is being done from now on, in words, and how much of the whole update is done, 0 to 1.

        Called where the work can be left off. Raises: LeftOff.
        """

    def say(self, text: str) -> None:
        """A line for people."""


class PlainReporter:
    """Passes on what is said, and lets the update go on: for who does it without a job."""

    def __init__(self, say: Callable[[str], object]):
        self._say = say

    def at(self, phase: str, share: float) -> None:
        """It is heard by nobody."""

    def say(self, text: str) -> None:
        self._say(text)
