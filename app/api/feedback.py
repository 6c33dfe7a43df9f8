"""/v1/feedback: verdicts about pairs, in and out."""

from collections.abc import Iterator
from itertools import chain, islice

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from app.api.bodies import Feedback
from app.api.dependencies import CollectionDep
from app.api.schemas import Recorded
from app.services.collection import Collection
from app.services.feedback import export_pairs, record_feedback

__all__ = ["router"]

router = APIRouter(prefix="/v1/feedback", tags=["feedback"])


@router.post("")
def give_feedback(collection: CollectionDep, feedback: Feedback) -> Recorded:
    """Say of pairs of images or queries whether they are of the same kind. Saying it again changes nothing."""
    return Recorded.of(record_feedback(collection, feedback.as_pairs(), feedback.source))


@router.get("", response_class=StreamingResponse)
def get_feedback(collection: CollectionDep) -> StreamingResponse:
    """The latest verdict about each pair, one JSON object a line, as the trainer reads them."""
    lines = _lines(collection)
    first = list(islice(lines, 1))  # read before the answer begins, so that it can still say that the database fails
    return StreamingResponse(chain(first, lines), media_type="application/x-ndjson")


def _lines(collection: Collection) -> Iterator[str]:
    for pair in export_pairs(collection):
        yield pair.json_line
