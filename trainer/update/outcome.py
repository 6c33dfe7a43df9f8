"""What came of an update."""

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Outcome"]


@dataclass(frozen=True)
class Outcome:
    """How an update ended."""

    state: Literal["activated", "nothing to do", "kept"]
    version: str | None  # of the new model
    verdict: str | None  # of the comparison
    summary: str  # in words: what was learned from, what changed, why the model was or was not taken
    marks: dict[str, int] = field(default_factory=dict)  # how far the collection was read
