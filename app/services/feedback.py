"""Verdicts of people about pairs of pictures."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from app.errors import TooManyPairs, shown
from app.records import RecordedPairs
from app.services.collection import Collection
from app.services.fields import check_text
from embedding.errors import BadPairs
from embedding.pairs import Pair, contradictions

__all__ = ["MAX_PAIRS", "check_pair_count", "export_pairs", "record_feedback"]

MAX_PAIRS = 10_000  # in one call, which is one transaction


def check_pair_count(count: int) -> None:
    """To be asked before anything is done for each of them. Raises: TooManyPairs."""
    if count > MAX_PAIRS:
        raise TooManyPairs(f"There are {count:,} pairs in this call, the limit is {MAX_PAIRS:,}: send several calls.")


def record_feedback(collection: Collection, pairs: Sequence[Pair], source: str | None) -> RecordedPairs:
    """Store the verdicts that change something, all or none of them.

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
    recorded = collection.repository.pairs.record(pairs, check_text("source", source), datetime.now(UTC))
    collection.measures.recorded_verdicts(recorded.similar, recorded.recorded - recorded.similar)
    return recorded


def export_pairs(collection: Collection) -> Iterator[Pair]:
    """The latest verdict about each pair of images and queries that are still there."""
    return collection.repository.pairs.latest()
