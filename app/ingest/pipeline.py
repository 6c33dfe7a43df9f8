"""Reading, decoding and keeping pictures in some threads, while others are extracted and the rows of others are stored.

Nothing is remembered between runs but the collection itself: a picture whose bytes are there is passed over after a
look at its checksum, so a run that was killed goes on by being started again.
"""

import hashlib
import logging
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeVar

from app.errors import BadField, ReservedId, StoreUnavailable, shown
from app.ingest.sources import Item
from app.records import FeatureMatrix
from app.services.adding import Prepared, Upload, checked, keep_files, prepare, store
from app.services.collection import Collection
from app.services.components import between_batches
from app.services.steady import OtherBackbone
from embedding.errors import BadFeatures, BrokenImage, ImageTooLarge, UnsupportedImage
from embedding.process import cores

__all__ = ["CODES", "Outcome", "ingest"]

T = TypeVar("T")
U = TypeVar("U")

# What the API calls these; a test compares the two.
CODES: Mapping[type[Exception], str] = {
    BadField: "invalid_field",
    ReservedId: "reserved_id",
    UnsupportedImage: "unsupported_image",
    BrokenImage: "broken_image",
    ImageTooLarge: "image_too_large",
    BadFeatures: "bad_features",
}
_ID_TAKEN, _UNREADABLE, _SURPRISE = "id_taken", "unreadable", "internal_error"

_log = logging.getLogger(__name__)

_LOOKED_UP = 256  # checksums that the database is asked for at once
_THREADS_A_CORE = 4  # a picture waits longer for the disk, which makes its files durable, than it is decoded
# One batch is stored, one extracted, two are prepared: all four wait with their files' bytes, 64 pictures at most.
_PREPARED, _EXTRACTED = 2, 1


@dataclass(frozen=True)
class Outcome:
    """What became of a picture."""

    item: Item
    state: Literal["added", "there", "failed"]  # there: its bytes were in the collection already
    reason: str = ""  # of a failure
    code: str = ""  # of a failure, for programs


@dataclass(frozen=True)
class _Work:
    """A picture whose bytes are not in the collection."""

    item: Item
    prepared: Prepared


_Batch = Sequence[_Work | Outcome]


def ingest(
    collection: Collection, items: Iterable[Item], stored: Callable[[Sequence[Outcome]], None] = lambda _: None
) -> Iterator[Outcome]:
    """Add pictures; one outcome for each, in their order. What is reported as added is stored, like by a request.

    stored: told of the outcomes of a batch as soon as it is stored, before anybody can leave off between them.
    Raises: StoreUnavailable; then the run should be started again when the trouble is over.
    """
    size = collection.extractor.batch_size
    with _pool(_THREADS_A_CORE * cores()) as pool, _pool(1) as extracting:
        digests = _ahead(pool, lambda item: _digest(item, collection.extractor.max_bytes), items, 2 * _LOOKED_UP)
        looked_up = _look_up(collection, pool, digests)
        prepared = _ahead(pool, lambda each: _prepared(collection, each), looked_up, _PREPARED * size)
        batches = iter(lambda: list(islice(prepared, size)), [])
        for batch, features in _ahead(extracting, lambda each: _extracted(collection, each), batches, _EXTRACTED):
            outcomes = _stored(collection, batch, features)
            stored(outcomes)
            between_batches(collection)
            yield from outcomes


@contextmanager
def _pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that, when the run is broken off, finish what they are at and nothing that waits."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="ingest")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ahead(pool: ThreadPoolExecutor, job: Callable[[T], U], items: Iterable[T], window: int) -> Iterator[U]:
    """The job's results in order; the pool works on at most `window` items before they are asked for."""
    waiting: deque[Future[U]] = deque()
    for item in items:
        waiting.append(pool.submit(job, item))
        if len(waiting) > window:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _digest(item: Item, max_bytes: int) -> tuple[Item, str] | Outcome:
    if item.problem:
        return Outcome(item, "failed", item.problem, item.code)
    try:
        status = item.path.stat()
        if not stat.S_ISREG(status.st_mode):  # to open a pipe would wait for its other end
            return Outcome(item, "failed", "is no file", _UNREADABLE)
        if status.st_size > max_bytes:
            reason = f"has {status.st_size:,} bytes, the limit is {max_bytes:,}"
            return Outcome(item, "failed", reason, CODES[ImageTooLarge])
        with item.path.open("rb") as file:
            return item, hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:  # ValueError: a NUL or half a character in the name
        return _unreadable(item, error)


def _look_up(
    collection: Collection, pool: ThreadPoolExecutor, digests: Iterator[tuple[Item, str] | Outcome]
) -> Iterator[tuple[Item, str] | Outcome]:
    """Pictures that are in the collection become outcomes."""
    while block := list(islice(digests, _LOOKED_UP)):
        stored = collection.repository.images.stored_among({each[1] for each in block if isinstance(each, tuple)})
        held = zip(stored, pool.map(collection.blobs.holds, stored), strict=True)
        there = {sha256 for sha256, is_held in held if is_held}  # a file that is gone is put back
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
        return _Work(item, keep_files(collection, prepared))
    except OSError as error:
        return _unreadable(item, error)
    except StoreUnavailable:
        raise
    except Exception as error:
        return _failure(item, error)


def _extracted(collection: Collection, batch: _Batch) -> tuple[_Batch, FeatureMatrix | Exception]:
    """The batch with the features of its pictures, or why there are none."""
    return batch, _features(collection, _works(batch))


def _features(collection: Collection, works: Sequence[_Work]) -> FeatureMatrix | Exception:
    try:
        return collection.extractor.features([work.prepared.picture for work in works])
    except Exception as error:
        return error


def _works(batch: _Batch) -> list[_Work]:
    return [each for each in batch if isinstance(each, _Work)]


def _stored(collection: Collection, batch: _Batch, features: FeatureMatrix | Exception) -> list[Outcome]:
    results = iter(_results(collection, _works(batch), features))
    return [each if isinstance(each, Outcome) else next(results) for each in batch]


def _results(collection: Collection, works: Sequence[_Work], features: FeatureMatrix | Exception) -> list[Outcome]:
    """Store them; one that spoils a batch spoils it for no other."""
    if not works:
        return []
    try:
        if isinstance(features, Exception):
            raise features
        backbone = collection.extractor.backbone  # jobs are done one at a time, those that change it too
        results = store(collection, [work.prepared for work in works], features, backbone)
        return [_outcome(work.item, result) for work, result in zip(works, results, strict=True)]
    except StoreUnavailable:
        raise
    except OtherBackbone as error:  # only where replicas share the collection: jobs are done one at a time
        raise StoreUnavailable(
            "Another backbone has taken over, for which pictures have to be read again: start the same again."
        ) from error
    except Exception as error:
        if len(works) == 1:
            collection.sweep_soon.set()  # its files have no row
            return [_failure(works[0].item, error)]
    return [outcome for work in works for outcome in _results(collection, [work], _features(collection, [work]))]


def _failure(item: Item, error: Exception) -> Outcome:
    code = next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), None)
    if code is not None:
        return Outcome(item, "failed", str(error), code)
    _log.error("unforeseen error with the picture %a", item.name, exc_info=error)
    return Outcome(item, "failed", "something went wrong that should not have; the log has it", _SURPRISE)


def _unreadable(item: Item, error: OSError | ValueError) -> Outcome:
    """Raises: StoreUnavailable for trouble that may pass with a file that was taken in already."""
    reason = f"cannot be read: {_without_path(error)}"
    if item.is_kept and isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        raise StoreUnavailable(f"An uploaded file {reason}.") from error
    return Outcome(item, "failed", reason, _UNREADABLE)


def _outcome(item: Item, result: tuple[object, bool] | None) -> Outcome:
    if result is None:
        reason = f"another picture has the id {shown(item.id)}: choose another, or delete that one"
        return Outcome(item, "failed", reason, _ID_TAKEN)
    return Outcome(item, "added" if result[1] else "there")


def _without_path(error: OSError | ValueError) -> str:
    """The outcome has the name that the source gives; a path of this machine is nothing for clients."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
