"""What the neighbours of a query take it for."""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Vote", "vote"]


@dataclass(frozen=True)
class Vote:
    category: str
    share: float  # of all votes, 0 to 1


def vote(neighbours: Iterable[tuple[str | None, float | None]]) -> Vote | None:
    """The category with the greatest sum of votes; of equals, the one whose nearest neighbour is nearer.

    neighbours: category and probability of each, nearest first. One that has a category votes with its probability of
    being of the query's kind, or with 1 if the model is not calibrated. None if nobody votes.
    """
    votes: dict[str, float] = {}  # in the order of each category's nearest
    for category, probability in neighbours:
        if category is not None:
            votes[category] = votes.get(category, 0.0) + (1.0 if probability is None else probability)
    if not votes:
        return None
    winner = max(votes, key=votes.__getitem__)  # the first of equals
    return Vote(winner, votes[winner] / sum(votes.values()))
