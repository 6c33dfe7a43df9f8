"""Reading, decoding and keeping pictures in some threads, while others are extracted, and rows are stored in batches.

Nothing is remembered between runs but the collection itself: a picture whose bytes are there is passed over after a
look at its checksum, so a run that was killed goes on by being started again.
"""

import hashlib
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeVar

from app.errors import BadField
from app.ingest.sources import Item
from app.services.adding import Prepared, Upload, checked, keep_files, prepare, store
from app.services.collection import Collection
from embedding.errors import BadImage

__all__ = ["Outcome", "ingest"]

T = TypeVar("T")
U = TypeVar("U")

_LOOKED_UP = 256  # checksums that the database is asked for at once
_BATCHES_AHEAD = 2  # prepared while one is extracted; each picture waits with its file's bytes


@dataclass(frozen=True)
class Outcome:
    """What became of a picture."""

    item: Item
    state: Literal["added", "there", "failed"]  # there: its bytes were in the collection already
    reason: str = ""  # of a failure


@dataclass(frozen=True)
class _Work:
    """A picture whose bytes are not in the collection."""

    item: Item
    prepared: Prepared


def ingest(collection: Collection, items: Iterable[Item]) -> Iterator[Outcome]:
    """Add pictures; one outcome for each, in their order. What is reported as added is stored, like by a request.

    Raises: StoreUnavailable, BadFeatures; then the run should be started again when the trouble is over.
    """
    with ThreadPoolExecutor(_threads(), thread_name_prefix="ingest") as pool:
        digests = _ahead(pool, lambda item: _digest(item, collection.extractor.max_bytes), items, 2 * _LOOKED_UP)
        looked_up = _look_up(collection, digests)
        window = (_BATCHES_AHEAD + 1) * collection.extractor.batch_size
        prepared = _ahead(pool, lambda each: _prepared(collection, each), looked_up, window)
        while batch := list(islice(prepared, collection.extractor.batch_size)):
            yield from _stored(collection, batch)


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _ahead(pool: ThreadPoolExecutor, job: Callable[[T], U], items: Iterable[T], window: int) -> Iterator[U]:
    """The job's results in order; the pool works on at most `window` items before they are asked for."""
    waiting: deque[Future[U]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(job, item))
            if len(waiting) > window:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:  # of a run that was broken off
            future.cancel()


def _digest(item: Item, max_bytes: int) -> tuple[Item, str] | Outcome:
    if item.problem:
        return Outcome(item, "failed", item.problem)
    try:
        status = item.path.stat()
        if not stat.S_ISREG(status.st_mode):  # to open a pipe would wait for its other end
            return Outcome(item, "failed", "is no file")
        if status.st_size > max_bytes:
            return Outcome(item, "failed", f"has {status.st_size:,} bytes, the limit is {max_bytes:,}")
        with item.path.open("rb") as file:
            return item, hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:  # ValueError: a NUL or half a character in the name
        return Outcome(item, "failed", f"cannot be read: {error}")


def _look_up(
    collection: Collection, digests: Iterator[tuple[Item, str] | Outcome]
) -> Iterator[tuple[Item, str] | Outcome]:
    """Pictures that are in the collection become outcomes."""
    while block := list(islice(digests, _LOOKED_UP)):
        stored = collection.repository.images.stored_among({each[1] for each in block if isinstance(each, tuple)})
        there = {sha256 for sha256 in stored if collection.blobs.holds(sha256)}  # a file that is gone is put back
        for each in block:
            is_there = isinstance(each, tuple) and each[1] in there
            yield Outcome(each[0], "there") if is_there and isinstance(each, tuple) else each


def _prepared(collection: Collection, each: tuple[Item, str] | Outcome) -> _Work | Outcome:
    if isinstance(each, Outcome):
        return each
    item, _ = each
    try:
        image_id, fields = checked(Upload(b"", item.id, item.category, item.metadata))
        data = item.path.read_bytes()
        sha256 = hashlib.sha256(data).hexdigest()  # not the one of before: the file may have changed
        prepared = prepare(collection.extractor, data, sha256, image_id, fields)
    except (BadImage, BadField) as error:
        return Outcome(item, "failed", str(error))
    except OSError as error:
        return Outcome(item, "failed", f"cannot be read: {error}")
    return _Work(item, keep_files(collection, prepared))


def _stored(collection: Collection, batch: list[_Work | Outcome]) -> Iterator[Outcome]:
    works = [each for each in batch if isinstance(each, _Work)]
    features = collection.extractor.features([work.prepared.picture for work in works])
    results = iter(store(collection, [work.prepared for work in works], features))
    for each in batch:
        yield each if isinstance(each, Outcome) else _outcome(each.item, next(results))


def _outcome(item: Item, result: tuple[object, bool] | None) -> Outcome:
    if result is None:
        return Outcome(item, "failed", f"another picture has the id {item.id!r}: choose another, or delete that one")
    return Outcome(item, "added" if result[1] else "there")
