"""/v1/feedback: verdicts about pairs, in and out."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import field_validator

from app.api.dependencies import CollectionDep
from app.api.described import LINES, lines
from app.api.rendering import recorded_answer
from app.api.routing import GuardedRoute, needs
from app.contract import examples, requests
from app.contract.answers import Recorded
from app.services.collection import Collection
from app.services.feedback import check_pair_count, export_pairs, record_feedback
from embedding.pairs import Pair

__all__ = ["router"]

router = APIRouter(prefix="/v1/feedback", tags=["feedback"], route_class=GuardedRoute)


class Feedback(requests.Feedback):
    """The body, whose length is looked at before its parts are."""

    @field_validator("pairs", mode="before")
    @classmethod
    def _count_first(cls, pairs: Any) -> Any:
        """Raises: TooManyPairs, which pydantic lets through as it is."""
        if isinstance(pairs, list):
            check_pair_count(len(pairs))
        return pairs

    def as_pairs(self) -> list[Pair]:
        """Raises: BadPairs for a pair of an image with itself."""
        return [Pair(verdict.left, verdict.right, verdict.similar) for verdict in self.pairs]


@router.post("", **needs("writer"))
def give_feedback(collection: CollectionDep, feedback: Feedback) -> Recorded:
    """Say of pairs of images or queries whether they are of the same kind. Saying it again changes nothing."""
    return recorded_answer(record_feedback(collection, feedback.as_pairs(), feedback.source))


@router.get("", response_class=StreamingResponse, responses=lines(examples.VERDICT), **needs("reader"))
def get_feedback(collection: CollectionDep) -> StreamingResponse:
    """The latest verdict about each pair, one JSON object a line, as the trainer reads them."""
    pairs = _lines(collection)
    first = list(islice(pairs, 1))  # read before the answer begins, so that it can still say that the database fails
    return StreamingResponse(chain(first, pairs), media_type=LINES)


def _lines(collection: Collection) -> Iterator[str]:
    for pair in export_pairs(collection):
        yield pair.json_line
