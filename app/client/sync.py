"""The client for programs that wait."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
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

__all__ = ["Samekind"]

P = ParamSpec("P")
T = TypeVar("T")


def _method(build: Callable[P, Call[T]]) -> Callable[Concatenate["Samekind", P], T]:
    """A method that sends the call."""

    @described(build)
    def method(client: "Samekind", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return client._send(build(*args, **kwargs))

    return method


def _pages(build: Callable[P, Listing[T]]) -> Callable[Concatenate["Samekind", P], Iterator[T]]:
    """A method that gives what all pages hold; a page is fetched when the one before it is used up."""

    @described(build, Iterator)
    def method(client: "Samekind", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return client._pages(build(*args, **kwargs))

    return method


def _lines(build: Callable[P, Stream[T]]) -> Callable[Concatenate["Samekind", P], Iterator[T]]:
    """A method that gives what each line of the answer says, as it comes."""

    @described(build, Iterator)
    def method(client: "Samekind", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return client._lines(build(*args, **kwargs))

    return method


class Samekind:
    """A service, spoken to over connections that are kept until `close`, or until a `with` block ends.

    timeout: seconds of silence after which a call has failed. retries: how many times a call that can safely be
    repeated is sent again when the service is busy or the connection broke; 0: never. Several threads may share one.
    """

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 60.0, retries: int = 3):
        self._connection = Connection(url, retries)
        self._http = httpx.Client(**options(url, key, timeout))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._connection)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    add_image = _method(calls.add_image)

    def add_images(self, files: Iterable[Upload | File]) -> Iterator[BatchItem]:
        """Add many, 64 in a request; gives a result for each file, in their order. One that fails fails alone."""
        for call in calls.add_images(files):
            yield from self._send(call).items

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

    def wait_for_job(
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
        while (job := self.job(job_id)).state not in FINISHED:
            progress(job)
            if time.monotonic() > deadline:
                raise StillRunning(job, timeout)
            time.sleep(poll)
        return job

    stats = _method(calls.stats)
    categories = _method(calls.categories)
    collection_map = _method(calls.collection_map)
    who_am_i = _method(calls.who_am_i)
    ready = _method(calls.ready)

    def _send(self, call: Call[T]) -> T:
        return result_of(call, self._answer(call))

    def _pages(self, listing: Listing[T]) -> Iterator[T]:
        cursor: str | None = None
        while True:
            page = self._send(listing.page(cursor))
            yield from page.items
            if (cursor := page.next) is None:
                return

    def _lines(self, stream: Stream[T]) -> Iterator[T]:
        lines = Lines()
        with closing(self._answer(stream.call, streamed=True)) as response, self._connection.talking():
            for chunk in response.iter_bytes():
                yield from parsed(stream, lines.feed(chunk))
            yield from parsed(stream, lines.end())

    def _answer(self, call: Call[Any], *, streamed: bool = False) -> httpx.Response:
        """A good answer, after as many attempts as it takes. streamed: still to be read, and to be closed."""
        attempt = 1
        while True:
            try:
                return self._asked(call, streamed)
            except SamekindError as error:
                wait_s = self._connection.wait_s(call, error, attempt)
                if wait_s is None:
                    raise
            time.sleep(wait_s)
            attempt += 1

    def _asked(self, call: Call[Any], streamed: bool) -> httpx.Response:
        with self._connection.talking():
            response = self._http.send(self._http.build_request(**call.arguments), stream=True)
            if not streamed or not response.is_success:
                response.read()
        return good(response)
