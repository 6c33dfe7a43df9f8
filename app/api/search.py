"""/v1/search: one search, or many in one call."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from anyio import CapacityLimiter, create_task_group
from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from app.api.admission import place_in_queue
from app.api.dependencies import CollectionDep
from app.api.errors import problem_of
from app.api.file_room import file_room
from app.api.rendering import search_answer
from app.api.routing import GuardedRoute, needs
from app.api.search_bodies import Asked, batch_body, search_body
from app.api.search_description import BATCH_BODY, SEARCH_BODY
from app.contract.answers import SearchAnswer, SearchBatchAnswer, SearchOutcome
from app.services.collection import Collection
from app.services.queries import check_batch
from app.services.search import search as find

__all__ = ["router"]

router = APIRouter(prefix="/v1/search", tags=["search"], route_class=GuardedRoute)

_AT_ONCE = 8  # searches of one batch: enough to be extracted together, few enough to leave room for others


@router.post("", response_model=SearchAnswer, **needs("reader", extraction=True, requestBody=SEARCH_BODY))
async def search(request: Request, collection: CollectionDep) -> Response:
    """The nearest images to a picture, a part of one, a stored image, or several examples.

    A picture is sent as multipart/form-data. Everything else is JSON, and `by` says what it is.
    """
    async with search_body(request) as asked:
        with _place(request, [asked]):
            return await find(collection, *await asked.read(), made=lambda answer: _json(search_answer(answer)))


@router.post("/batch", response_model=SearchBatchAnswer, **needs("reader", extraction=True, requestBody=BATCH_BODY))
async def search_batch(request: Request, collection: CollectionDep) -> Response:
    """Up to 64 searches. Each is answered by itself, or has a problem document in place of an answer."""
    async with batch_body(request) as asked:
        check_batch([each.k for each in asked], collection.max_k)
        with _place(request, asked):
            found = await _all(collection, asked)
    return await run_sync(lambda: _json(SearchBatchAnswer(results=[_outcome(each) for each in found])))


def _place(request: Request, asked: Sequence[Asked]) -> AbstractContextManager[None]:
    """A request that comes with its pictures has a place already, since before they were read."""
    if any(each.fetches_picture for each in asked):
        return place_in_queue(request)
    return nullcontext()


async def _all(collection: Collection, asked: Sequence[Asked]) -> list[SearchAnswer | Exception]:
    limiter = CapacityLimiter(_AT_ONCE)
    found: dict[int, SearchAnswer | Exception] = {}

    async def find_one(number: int) -> None:
        async with limiter, file_room() if asked[number].has_file else nullcontext():
            try:
                found[number] = await find(collection, *await asked[number].read(), made=search_answer)
            except Exception as error:
                if problem_of(error) is None:
                    raise  # a surprise: nothing else of the batch can be trusted either
                found[number] = error

    async with create_task_group() as tasks:
        for number in range(len(asked)):
            tasks.start_soon(find_one, number)
    return [found[number] for number in range(len(asked))]


def _outcome(found: SearchAnswer | Exception) -> SearchOutcome:
    if isinstance(found, Exception):
        return SearchOutcome(problem=problem_of(found))
    return SearchOutcome(answer=found)


def _json(answer: BaseModel) -> Response:
    """Made in a worker thread: a thousand neighbours with metadata would hold up the event loop."""
    return Response(answer.model_dump_json(), media_type="application/json")
