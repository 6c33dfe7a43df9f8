"""What came of an update."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["Outcome"]


@dataclass(frozen=True)
class Outcome:
    """kept: the service keeps the model, and it was not activated."""

    state: Literal["activated", "nothing to do", "kept"]
    version: str | None  # of the model that was made
    verdict: str | None  # of the comparison with the model that was active
    summary: str  # for people
    marks: Mapping[str, int]  # how far it has learned: last_pair and the like, as in the manifest
