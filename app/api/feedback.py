"""/v1/feedback: verdicts about pairs and groups, in and out."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import BeforeValidator, field_validator

from app.api.dependencies import CallerDep, CollectionDep
from app.api.described import LINES, lines
from app.api.rendering import given_answer, recorded_answer
from app.api.routing import GuardedRoute, needs
from app.contract import examples, requests
from app.contract.answers import Recorded, Undone
from app.services.collection import Collection
from app.services.feedback import check_pair_count, export_pairs, feedback_history, record_feedback, undo_feedback
from embedding.pairs import Group, Pair

__all__ = ["router"]

router = APIRouter(prefix="/v1/feedback", tags=["feedback"], route_class=GuardedRoute)


FeedbackId = Annotated[str, Path(examples=[examples.FEEDBACK_ID])]
History = Annotated[
    bool,
    BeforeValidator(lambda text: {"true": True, "false": False}.get(text, text)),  # no other words, as the schema says
    Query(strict=True, description="Every verdict that was given, in place of what counts.", examples=[True]),
]
_LINES = lines(examples.VERDICT, examples.GIVEN, examples.GIVEN_GROUP)


class Feedback(requests.Feedback):
    """The body, whose length is looked at before its parts are."""

    @field_validator("pairs", "groups", mode="before")
    @classmethod
    def _count_first(cls, verdicts: Any) -> Any:
        """Raises: TooManyPairs, which pydantic lets through as it is."""
        if isinstance(verdicts, list):
            check_pair_count(len(verdicts))
        return verdicts

    def as_pairs(self) -> list[Pair]:
        """Raises: BadPairs for a pair of an image with itself."""
        return [Pair(verdict.left, verdict.right, verdict.similar) for verdict in self.pairs]

    def as_groups(self) -> list[Group]:
        """Raises: BadPairs for a group that names an image twice, or says nothing."""
        return [Group(tuple(group.same), tuple(group.different)) for group in self.groups]


@router.post("", **needs("writer"))
def give_feedback(collection: CollectionDep, caller: CallerDep, feedback: Feedback) -> Recorded:
    """Say of pairs of images or queries whether they are of the same kind. Saying it again changes nothing.

    A group says it of many at once: all of `same` are of one kind, and none of `different` is of that kind. It counts
    as a verdict about each of those pairs, and is kept, told and taken back as one.

    People may disagree, and a key is a person; all who come without one are one. Each person's latest verdict about a
    pair counts for them, the majority of persons counts for the pair; where they are even, the latest verdict does.
    """
    pairs, groups = feedback.as_pairs(), feedback.as_groups()
    return recorded_answer(record_feedback(collection, pairs, feedback.source, caller.key_id, groups))


@router.delete("/{feedback_id}", **needs("writer"))
def take_back_feedback(collection: CollectionDep, caller: CallerDep, feedback_id: FeedbackId) -> Undone:
    """Take back what one call recorded: with the key that made it, or with an admin's. Again: nothing happens.

    What that person said before counts for them again.
    """
    return Undone(undone=undo_feedback(collection, caller, feedback_id))


@router.get("", response_class=StreamingResponse, responses=_LINES, **needs("reader"))
def get_feedback(collection: CollectionDep, history: History = False) -> StreamingResponse:
    """What counts about each pair, one JSON object a line with `left`, `right` and `similar`, as `trainer` reads it.

    With `history=true` everything that was given, oldest first: also what was overruled or taken back, each with
    `given_by` (id of the key, or null), `source`, `created`, `feedback_id` and `undone` (when, or null). A group is one
    line, with `same` and `different` in place of `left`, `right` and `similar`.
    """
    verdicts = _history(collection) if history else _counting(collection)
    first = list(islice(verdicts, 1))  # read before the answer begins, so that it can still say that the database fails
    return StreamingResponse(chain(first, verdicts), media_type=LINES)


def _counting(collection: Collection) -> Iterator[str]:
    for pair in export_pairs(collection):
        yield pair.json_line


def _history(collection: Collection) -> Iterator[str]:
    for given in feedback_history(collection):
        yield given_answer(given).model_dump_json() + "\n"
