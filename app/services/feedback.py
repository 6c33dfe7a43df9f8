"""Verdicts of people about pairs of pictures."""

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from app.errors import Forbidden, TooManyPairs, shown
from app.records import FeedbackCall, GivenVerdict, RecordedPairs
from app.services.collection import Collection
from app.services.fields import check_text
from app.services.keys import Caller
from embedding.errors import BadPairs
from embedding.pairs import Pair, contradictions

__all__ = [
    "MAX_PAIRS",
    "check_pair_count",
    "export_pairs",
    "feedback_history",
    "record_feedback",
    "undo_feedback",
]

MAX_PAIRS = 10_000  # in one call, which is one transaction


def check_pair_count(count: int) -> None:
    """To be asked before anything is done for each of them. Raises: TooManyPairs."""
    if count > MAX_PAIRS:
        raise TooManyPairs(f"There are {count:,} pairs in this call, the limit is {MAX_PAIRS:,}: send several calls.")


def record_feedback(
    collection: Collection, pairs: Sequence[Pair], source: str | None, given_by: str | None = None
) -> RecordedPairs:
    """Store the verdicts that change something, all or none of them.

    given_by: the id of a key; None: somebody without one.
    Raises: BadPairs (none, or a pair that is called both), TooManyPairs, BadField, UnknownReference.
    """
    if not pairs:
        raise BadPairs("There are no pairs in this call: send at least one.")
    check_pair_count(len(pairs))
    if both := contradictions(pairs):
        left, right = min(both)
        raise BadPairs(
            f"{shown(left)} and {shown(right)} are called similar and dissimilar in one call: decide. "
            "Nothing was recorded."
        )
    call = FeedbackCall(uuid.uuid4().hex, given_by, check_text("source", source), datetime.now(UTC))
    recorded = collection.repository.pairs.record(pairs, call)
    collection.measures.recorded_verdicts(recorded.similar, recorded.recorded - recorded.similar)
    return recorded


def undo_feedback(collection: Collection, caller: Caller, feedback_id: str) -> int:
    """Take back what a call recorded, as far as that is not done and not erased; returns how many verdicts.

    Raises: UnknownFeedback, Forbidden for what another key gave, unless it is an admin who asks.
    """
    pairs = collection.repository.pairs
    given_by = pairs.giver(feedback_id)
    if given_by != caller.key_id and caller.role != "admin":
        raise Forbidden(
            f"The feedback {shown(feedback_id)} was given {_with(given_by)}, and this call comes "
            f"{_with(caller.key_id)}: take it back in the same way, or with an admin's key."
        )
    undone = pairs.undo(feedback_id, datetime.now(UTC))
    collection.measures.undone_verdicts(undone)
    return undone


def export_pairs(collection: Collection) -> Iterator[Pair]:
    """What counts about each pair of images and queries that are still there."""
    for verdict in collection.repository.pairs.counting():
        yield Pair(verdict.left, verdict.right, verdict.similar)


def feedback_history(collection: Collection) -> Iterator[GivenVerdict]:
    """Every verdict about images and queries that are still there, those taken back too, oldest first."""
    return collection.repository.pairs.given()


def _with(key_id: str | None) -> str:
    return f"with the key {key_id}" if key_id else "without a key"
