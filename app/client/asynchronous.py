"""The client for programs on asyncio: the same methods, to be awaited or iterated with `async for`."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from app.client import calls
from app.client.calls.batches import Upload
from app.client.calls.call import Call, File, Lines, Listing, Stream
from app.client.calls.jobs import FINISHED
from app.client.connection import Connection, good, options, parsed, result_of
from app.client.described import described
from app.client.errors import SamekindError, StillRunning
from app.contract.answers import BatchItem, Job

__all__ = ["AsyncSamekind"]

P = ParamSpec("P")
T = TypeVar("T")


def _method(build: Callable[P, Call[T]]) -> Callable[Concatenate["AsyncSamekind", P], Awaitable[T]]:
    """A method that sends the call."""

    @described(build)
    async def method(client: "AsyncSamekind", /, *args: P.args, **kwargs: P.kwargs) -> T:
        call = await asyncio.to_thread(build, *args, **kwargs)  # it may read files
        return await client._send(call)

    return method


def _pages(build: Callable[P, Listing[T]]) -> Callable[Concatenate["AsyncSamekind", P], AsyncIterator[T]]:
    """A method that gives what all pages hold; a page is fetched when the one before it is used up."""

    @described(build, AsyncIterator)
    def method(client: "AsyncSamekind", /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return client._pages(build(*args, **kwargs))

    return method


def _lines(build: Callable[P, Stream[T]]) -> Callable[Concatenate["AsyncSamekind", P], AsyncIterator[T]]:
    """A method that gives what each line of the answer says, as it comes."""

    @described(build, AsyncIterator)
    def method(client: "AsyncSamekind", /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return client._lines(build(*args, **kwargs))

    return method


class AsyncSamekind:
    """As `Samekind`, for `async with`; the arguments are the same. Tasks of one event loop may share one."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 60.0, retries: int = 3):
        self._connection = Connection(url, retries)
        self._http = httpx.AsyncClient(**options(url, key, timeout))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._connection)!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    add_image = _method(calls.add_image)

    async def add_images(self, files: Iterable[Upload | File]) -> AsyncIterator[BatchItem]:
        """Add many, 64 in a request; gives a result for each file, in their order. One that fails fails alone."""
        batches = calls.add_images(files)
        while (call := await asyncio.to_thread(next, batches, None)) is not None:
            for item in (await self._send(call)).items:
                yield item

    images = _pages(calls.images)
    image = _method(calls.image)
    image_file = _method(calls.image_file)
    thumbnail = _method(calls.thumbnail)
    change_image = _method(calls.change_image)
    delete_image = _method(calls.delete_image)

    search = _method(calls.search)
    search_by_id = _method(calls.search_by_id)
    search_by_examples = _method(calls.search_by_examples)
    search_by_url = _method(calls.search_by_url)
    search_batch = _method(calls.search_batch)
    search_files = _method(calls.search_files)

    give_feedback = _method(calls.give_feedback)
    undo_feedback = _method(calls.undo_feedback)
    feedback = _lines(calls.feedback)
    feedback_history = _lines(calls.feedback_history)
    suggestions = _method(calls.suggestions)
    training_set = _lines(calls.training_set)

    models = _method(calls.models)
    model = _method(calls.model)
    model_file = _method(calls.model_file)
    upload_model = _method(calls.upload_model)
    activate = _method(calls.activate)
    rollback = _method(calls.rollback)
    delete_model = _method(calls.delete_model)
    put_report = _method(calls.put_report)
    report = _method(calls.report)

    jobs = _pages(calls.jobs)
    job = _method(calls.job)
    job_failures = _lines(calls.job_failures)
    cancel_job = _method(calls.cancel_job)
    start_import = _method(calls.start_import)
    reindex = _method(calls.reindex)
    learn = _method(calls.learn)
    claim_job = _method(calls.claim_job)
    report_progress = _method(calls.report_progress)
    finish_job = _method(calls.finish_job)

    async def wait_for_job(
        self,
        job_id: str,
        *,
        poll: float = 0.5,
        timeout: float = math.inf,
        progress: Callable[[Job], object] = lambda _job: None,
    ) -> Job:
        """The job when it is over, however it ended, asked for every `poll` seconds; progress is called each time.

        Raises: StillRunning.
        """
        deadline = time.monotonic() + timeout
        while (job := await self.job(job_id)).state not in FINISHED:
            progress(job)
            if time.monotonic() > deadline:
                raise StillRunning(job, timeout)
            await asyncio.sleep(poll)
        return job

    stats = _method(calls.stats)
    categories = _method(calls.categories)
    collection_map = _method(calls.collection_map)
    who_am_i = _method(calls.who_am_i)
    ready = _method(calls.ready)

    async def _send(self, call: Call[T]) -> T:
        return result_of(call, await self._answer(call))

    async def _pages(self, listing: Listing[T]) -> AsyncIterator[T]:
        cursor: str | None = None
        while True:
            page = await self._send(listing.page(cursor))
            for item in page.items:
                yield item
            if (cursor := page.next) is None:
                return

    async def _lines(self, stream: Stream[T]) -> AsyncIterator[T]:
        lines = Lines()
        response = await self._answer(stream.call, streamed=True)
        async with aclosing(response):
            with self._connection.talking():
                async for chunk in response.aiter_bytes():
                    for record in parsed(stream, lines.feed(chunk)):
                        yield record
            for record in parsed(stream, lines.end()):
                yield record

    async def _answer(self, call: Call[Any], *, streamed: bool = False) -> httpx.Response:
        """A good answer, after as many attempts as it takes. streamed: still to be read, and to be closed."""
        attempt = 1
        while True:
            try:
                return await self._asked(call, streamed)
            except SamekindError as error:
                wait_s = self._connection.wait_s(call, error, attempt)
                if wait_s is None:
                    raise
            await asyncio.sleep(wait_s)
            attempt += 1

    async def _asked(self, call: Call[Any], streamed: bool) -> httpx.Response:
        with self._connection.talking():
            response = await self._http.send(self._http.build_request(**call.arguments), stream=True)
            if not streamed or not response.is_success:
                await response.aread()
        return good(response)
