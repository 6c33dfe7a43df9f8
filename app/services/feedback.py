"""Verdicts of people about pairs of pictures, and about groups of them."""

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain

from app.errors import Forbidden, TooManyPairs, shown
from app.records import FeedbackCall, GivenGroup, GivenVerdict, RecordedFeedback
from app.services.collection import Collection
from app.services.fields import check_text
from app.services.keys import Caller
from embedding.errors import BadPairs
from embedding.pairs import Group, Pair, contradictions

__all__ = [
    "MAX_MEMBERS",
    "MAX_PAIRS",
    "check_pair_count",
    "export_pairs",
    "feedback_history",
    "record_feedback",
    "undo_feedback",
]

MAX_PAIRS = 10_000  # in one call, which is one transaction; those of groups with them
MAX_MEMBERS = 100  # of a group: more than anybody looks at together, and few enough to be all compared


def check_pair_count(count: int) -> None:
    """To be asked before anything is done for each of them. Raises: TooManyPairs."""
    if count > MAX_PAIRS:
        raise TooManyPairs(
            f"There are {count:,} pairs in this call, those of its groups counted, the limit is {MAX_PAIRS:,}: send "
            "several calls."
        )


def record_feedback(
    collection: Collection,
    pairs: Sequence[Pair],
    source: str | None,
    given_by: str | None = None,
    groups: Sequence[Group] = (),
) -> RecordedFeedback:
    """Store the verdicts and groups that change something, all or none of them.

    given_by: the id of a key; None: somebody without one.
    Raises: BadPairs (none, a group of too many, a pair that is called both), TooManyPairs, BadField, UnknownReference.
    """
    if not pairs and not groups:
        raise BadPairs("There are no pairs and no groups in this call: send at least one.")
    if any(len(group.same) + len(group.different) > MAX_MEMBERS for group in groups):
        raise BadPairs(f"A group of this call has more than {MAX_MEMBERS} images: send it as several.")
    check_pair_count(len(pairs) + sum(group.pair_count for group in groups))
    if both := contradictions(chain(pairs, *(group.pairs for group in groups))):
        left, right = min(both)
        raise BadPairs(
            f"{shown(left)} and {shown(right)} are called similar and dissimilar in one call: decide. "
            "Nothing was recorded."
        )
    call = FeedbackCall(uuid.uuid4().hex, given_by, check_text("source", source), datetime.now(UTC))
    recorded = collection.repository.pairs.record(pairs, call, groups)
    collection.measures.recorded_verdicts(recorded.similar, recorded.recorded - recorded.similar, recorded.groups)
    return recorded


def undo_feedback(collection: Collection, caller: Caller, feedback_id: str) -> int:
    """Take back what a call recorded, as far as that is not done and not erased; returns how many verdicts.

    A group is one. Raises: UnknownFeedback, Forbidden for what another key gave, unless it is an admin who asks.
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


def feedback_history(collection: Collection) -> Iterator[GivenVerdict | GivenGroup]:
    """Every verdict and group about images and queries that are still there, those taken back too, oldest first."""
    return collection.repository.pairs.given()


def _with(key_id: str | None) -> str:
    return f"with the key {key_id}" if key_id else "without a key"
