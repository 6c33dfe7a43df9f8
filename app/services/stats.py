"""How much there is, and how much of it is new."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.records import Approximation, Counts
from app.services.collection import Collection
from app.services.following import current_model

__all__ = ["Stats", "stats"]


@dataclass(frozen=True)
class Stats:
    """What there is to search and to learn from."""

    counts: Counts
    contradicted: int  # pairs about which people disagree
    new_pairs: int  # with a verdict that the newest model made from feedback did not know
    model: str  # version of the active one
    trained: bool  # whether that has learned from people
    indexed: int  # images that it finds
    approximation: Approximation | None  # of its searches


def stats(collection: Collection) -> Stats:
    """Raises: NotReady, StoreUnavailable."""
    repository = collection.repository
    known = (_last_pair(model.manifest) for model in repository.models.all())  # the newest model first
    last_pair = next((last for last in known if last is not None), 0)
    contradicted, new_pairs = repository.pairs.contradicted(), repository.pairs.newer_than(last_pair)
    counts, active = repository.counts(), current_model(collection)
    index, trained = active.index, active.model.is_trained
    return Stats(counts, contradicted, new_pairs, active.version, trained, len(index), index.approximation)


def _last_pair(manifest: Mapping[str, Any]) -> int | None:
    """`training.collection.last_pair`. Other programs write it: whatever stands there, there is an answer."""
    value: Any = manifest
    for name in ("training", "collection", "last_pair"):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
