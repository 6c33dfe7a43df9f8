"""How long things take, for whoever watches the service."""

from contextlib import AbstractContextManager
from typing import Literal, Protocol

__all__ = ["Measures", "Stage"]

Stage = Literal["decode", "extract", "project", "search", "store"]


class Measures(Protocol):
    """What is told to whoever watches."""

    def timed(self, stage: Stage) -> AbstractContextManager[None]:
        """Count the block's time as that stage's."""

    def recorded_verdicts(self, similar: int, dissimilar: int, groups: int) -> None:
        """Verdicts about a pair that were stored, and groups."""

    def undone_verdicts(self, count: int) -> None:
        """Verdicts and groups that were taken back."""
