"""How much there is, and how much of it is new."""

from dataclasses import dataclass

from app.records import Approximation, Counts, NewToLearn
from app.services.collection import Collection
from app.services.following import followed
from app.services.marks import new_to_learn

__all__ = ["Stats", "stats"]


@dataclass(frozen=True)
class Stats:
    """What there is to search and to learn from."""

    counts: Counts
    contradicted: int  # pairs about which people disagree
    new: NewToLearn
    model: str | None  # version of the active one
    indexed: int  # images that it finds
    approximation: Approximation | None  # of its searches


def stats(collection: Collection) -> Stats:
    """Raises: StoreUnavailable."""
    repository = collection.repository
    contradicted, new = repository.pairs.contradicted(), new_to_learn(collection)
    counts, active = repository.counts(), followed(collection)
    if active is None:
        return Stats(counts, contradicted, new, None, 0, None)
    index = active.index
    return Stats(counts, contradicted, new, active.version, len(index), index.approximation)
