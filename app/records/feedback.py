"""What people say about pairs of pictures."""

from dataclasses import dataclass
from datetime import datetime

__all__ = ["CountingVerdict", "FeedbackCall", "GivenVerdict", "RecordedPairs"]


@dataclass(frozen=True)
class FeedbackCall:
    """What the verdicts of one call have in common."""

    id: str
    given_by: str | None  # id of the key; none: somebody without one
    source: str | None
    created: datetime


@dataclass(frozen=True)
class RecordedPairs:
    """What became of the verdicts of one call."""

    recorded: int  # rows added
    unchanged: int  # verdicts that were this person's latest already
    similar: int  # of the recorded ones, those that say so
    feedback_id: str | None  # by which they can be taken back; none: nothing was recorded


@dataclass(frozen=True)
class CountingVerdict:
    """What people say about a pair, taken together."""

    left: str  # left < right
    right: str
    similar: bool
    seq: int  # of the newest verdict about the pair that was not taken back


@dataclass(frozen=True)
class GivenVerdict:
    """One verdict as it was given."""

    seq: int
    left: str  # left < right
    right: str
    similar: bool
    given_by: str | None  # id of the key; none: somebody without one
    source: str | None
    created: datetime
    feedback_id: str | None  # none: of an older program
    undone: datetime | None  # when it was taken back
