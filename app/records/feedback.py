"""What people say about pairs of pictures, and how much of it is new."""

from dataclasses import dataclass
from datetime import datetime

__all__ = [
    "CountingVerdict",
    "FeedbackCall",
    "GivenGroup",
    "GivenVerdict",
    "Marks",
    "NewToLearn",
    "RecordedFeedback",
]


@dataclass(frozen=True)
class FeedbackCall:
    """What the verdicts of one call have in common."""

    id: str
    given_by: str | None  # id of the key; none: somebody without one
    source: str | None
    created: datetime


@dataclass(frozen=True)
class RecordedFeedback:
    """What became of the verdicts and groups of one call."""

    recorded: int  # verdicts about a pair that were added
    unchanged: int  # those that were this person's latest already
    similar: int  # of the recorded ones, those that say so
    feedback_id: str | None  # by which they can be taken back; none: nothing was recorded
    groups: int = 0  # that were added
    groups_unchanged: int = 0  # of whose pairs this person's latest said the same already
    agreeing: int = 0  # of what was added, verdicts and groups that only repeat what the categories say


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


@dataclass(frozen=True)
class GivenGroup:
    """One group as it was given; without members that were erased."""

    seq: int  # of its last pair: its place among the verdicts
    same: tuple[str, ...]  # all of one kind
    different: tuple[str, ...]  # not of that kind; nothing is said of two of them
    given_by: str | None  # as of a verdict
    source: str | None
    created: datetime
    feedback_id: str
    undone: datetime | None


@dataclass(frozen=True)
class Marks:
    """How far a model, or whoever learns, has learned: what has a greater number is new to it. 0: nothing."""

    last_pair: int = 0  # the greatest seq of a verdict
    last_category: int = 0  # the greatest number of a change of a category
    last_undo: int = 0  # the greatest number of an undo


@dataclass(frozen=True)
class NewToLearn:
    """What came since. A pair counts once however many judge it, and so does a group."""

    verdicts: int  # pairs with a new verdict of their own, and new groups
    categories: int  # images whose category was given, changed or taken away
    undone: int  # verdicts and groups that were known, and taken back
    agreeing: int  # new as well, but they only repeat what the categories of their images say; not in verdicts

    @property
    def total(self) -> int:
        """All from which something can be learned."""
        return self.verdicts + self.categories + self.undone
