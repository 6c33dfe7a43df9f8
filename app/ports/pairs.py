"""Verdicts about pairs, in the database."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from app.records import CountingVerdict, FeedbackCall, GivenGroup, GivenVerdict, RecordedFeedback
from embedding.pairs import Group, Pair

__all__ = ["Pairs"]


class Pairs(Protocol):
    """Nothing is overwritten, and people may disagree.

    A person is a key; all who come without one are one person. Each person's latest verdict about a pair that was not
    taken back is their voice. The majority of voices counts; where they are even, the latest voice.
    A group is a verdict about each of its pairs, given and taken back at once.
    """

    def record(self, pairs: Sequence[Pair], call: FeedbackCall, groups: Sequence[Group] = ()) -> RecordedFeedback:
        """Store the verdicts that are not this person's voice already, all or none of them; groups after pairs.

        A group is stored as a whole if some of what it says is not.

        Raises: UnknownReference for an id that is neither an image nor an unexpired query.
        """

    def counting(self, until: int | None = None) -> Iterator[CountingVerdict]:
        """What counts about each pair, in the order of the newest verdict about it.

        until: as if there were none of a greater seq.
        """

    def given(self) -> Iterator[GivenVerdict | GivenGroup]:
        """Every verdict of its own and every group, those taken back too, oldest first."""

    def giver(self, feedback_id: str) -> str | None:
        """The id of the key that made that call; None: somebody without one.

        Raises: UnknownFeedback, also where all that it recorded is erased.
        """

    def undo(self, feedback_id: str, now: datetime) -> int:
        """Take back what that call recorded and what is left of it; returns how many verdicts, a group as one."""

    def contradicted(self) -> int:
        """How many pairs have voices that disagree."""

    def judged_among(self, ids: Sequence[str]) -> set[tuple[str, str]]:
        """The pairs of two of these ids, left < right, with a verdict that was not taken back."""

    def named_among(self, ids: Sequence[str]) -> set[str]:
        """Those of these ids that such a verdict names."""

    def last_seq(self) -> int:
        """The greatest seq of a verdict, taken back or not; 0: there is none."""

    def dangling(self) -> int:
        """How many rows of verdicts and groups name what is not there; none, unless by damage."""

    def delete_dangling(self) -> None:
        """Remove those."""
