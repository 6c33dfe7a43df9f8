"""Who is told how an update goes."""

from collections.abc import Callable
from typing import Protocol

__all__ = ["Reporter", "TextReporter"]


class Reporter(Protocol):
    """What a person sees of an update, on a terminal or at a job of the service."""

    def at(self, phase: str, share: float) -> None:
        """What is being done now, in words, and how much of the whole update is done, 0 to 1. May raise: to end it."""

    def say(self, text: str) -> None:
        """A line for people."""


class TextReporter:
    """Hands lines on, and no progress."""

    def __init__(self, say: Callable[[str], None] = lambda _text: None):
        self._say = say

    def at(self, phase: str, share: float) -> None:
        """Nobody looks."""

    def say(self, text: str) -> None:
        self._say(text)
