"""How much there is, and how much of it is new."""

from dataclasses import dataclass

from app.records import Approximation, Counts, NewToLearn
from app.services.collection import Collection
from app.services.following import current_model
from app.services.marks import new_to_learn

__all__ = ["Stats", "stats"]


@dataclass(frozen=True)
class Stats:
    """What there is to search and to learn from."""

    counts: Counts
    contradicted: int  # pairs about which people disagree
    new: NewToLearn
    model: str  # version of the active one
    trained: bool  # whether that has learned from people
    indexed: int  # images that it finds
    approximation: Approximation | None  # of its searches


def stats(collection: Collection) -> Stats:
    """Raises: NotReady, StoreUnavailable."""
    repository = collection.repository
    contradicted, new = repository.pairs.contradicted(), new_to_learn(collection)
    counts, active = repository.counts(), current_model(collection)
    index, trained = active.index, active.model.is_trained
    return Stats(counts, contradicted, new, active.version, trained, len(index), index.approximation)
