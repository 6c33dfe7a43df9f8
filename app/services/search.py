"""Searching: by a picture, by a stored image, by several examples."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from anyio.to_thread import run_sync

from app.errors import UnknownReference, shown
from app.ports import Among, Extraction
from app.records import FeatureMatrix, ImageFilter, StoredImage
from app.services.collection import ActiveModel, Collection
from app.services.examples import point_between
from app.services.explaining import Explanation, by_channel, by_dimension
from app.services.images import read_file
from app.services.kept import keep_query
from app.services.queries import ByExamples, ByImage, ByUpload, Options, Query, check_query
from app.services.steady import OtherBackbone, again_if_switched, of_one_backbone
from app.services.voting import Vote, vote

__all__ = ["Answer", "Neighbour", "search"]

_ATTEMPTS = 5  # at an answer of full length while images are deleted; each deletion that comes between costs one
_EVERY = ImageFilter()

T = TypeVar("T")
Point = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Neighbour:
    """An image, how far it is, and what the model makes of that."""

    image: StoredImage
    squared_distance: float
    same: bool  # squared_distance < b
    probability: float | None  # of being of the same kind, if the model is calibrated
    explanation: Explanation | None = None  # if asked for, and if the image was not deleted meanwhile


@dataclass(frozen=True)
class Answer:
    query_id: str | None  # what feedback may call the query's picture, if that was kept
    model: str  # version
    trained: bool  # whether that has learned from people
    k: int  # as asked for
    offset: int
    category: Vote | None  # of all that was looked at, what is passed over too
    neighbours: list[Neighbour]  # nearest first


@dataclass(frozen=True)
class _Origin:
    """Where a search starts from."""

    point: Point
    features: FeatureMatrix | None  # (D,); None for several examples
    leave_out: Set[int]  # seqs


async def search(collection: Collection, query: Query, options: Options, made: Callable[[Answer], T]) -> T:
    """The nearest images to what is asked for.

    made: what the answer is turned into, in the thread that found it: another thread for that costs about as much.

    The features of a picture that is not stored as it is, an upload, a part of an image, are kept for a while, for
    feedback. Searching goes on where they cannot be kept, on a full disk or behind a lock: then there is no query id.

    Raises: BadLimit, BadSearch, UnknownImage, UnknownReference, BadImage and its kinds, FetchRefused, FetchFailed,
    MissingFile, StoreUnavailable, NotReady.
    """
    options.check(collection.max_k)
    check_query(query)
    return await again_if_switched(collection, lambda: _searched(collection, query, options, made))


async def _searched(collection: Collection, query: Query, options: Options, made: Callable[[Answer], T]) -> T:
    """Raises: OtherBackbone."""
    extraction = collection.extraction
    features = await _extracted(collection, extraction, query)

    def answer(active: ActiveModel) -> Answer:
        if features is not None and active.model.backbone != extraction.backbone:
            raise OtherBackbone
        return _answer(collection, active, query, features, options)

    return await run_sync(lambda: made(of_one_backbone(collection, answer)))


async def _extracted(collection: Collection, extraction: Extraction, query: Query) -> FeatureMatrix | None:
    """Features (D,) of the query's picture; None if it has none that is not stored."""
    if isinstance(query, ByExamples) or (isinstance(query, ByImage) and query.crop is None):
        return None
    if isinstance(query, ByImage):
        data = await run_sync(read_file, collection, query.image_id)
    else:
        data = query.data if isinstance(query, ByUpload) else await collection.fetcher.fetch(query.url)
    return await extraction.features_of_file(data, crop=query.crop)


def _answer(
    collection: Collection, active: ActiveModel, query: Query, features: FeatureMatrix | None, options: Options
) -> Answer:
    origin = _origin(collection, active, query, features)
    found = _nearest(collection, active, origin, options)
    query_id = None if features is None else keep_query(collection, features, active.model.backbone)
    category = vote((neighbour.image.category, neighbour.probability) for neighbour in found)
    neighbours = found[options.offset :]
    if options.explain:
        neighbours = _explained(collection, active, origin, neighbours)
    return Answer(query_id, active.version, active.model.is_trained, options.k, options.offset, category, neighbours)


def _origin(collection: Collection, active: ActiveModel, query: Query, features: FeatureMatrix | None) -> _Origin:
    leave_out: Set[int] = frozenset()
    if isinstance(query, ByExamples):
        return _between(collection, active, query)
    if isinstance(query, ByImage):
        leave_out = {collection.repository.images.get(query.image_id).seq}
        features = collection.repository.images.features(query.image_id) if features is None else features
    if features is None:
        raise AssertionError(f"A {type(query).__name__} query has features.")
    return _Origin(_embedded(collection, active, [features])[0], features, leave_out)


def _between(collection: Collection, active: ActiveModel, query: ByExamples) -> _Origin:
    """Raises: UnknownReference."""
    positives, negatives = (list(dict.fromkeys(ids)) for ids in (query.positives, query.negatives))
    images = collection.repository.images.named_features(positives + negatives)
    features = {name: found for name, (_, found) in images.items()}
    others = [name for name in positives + negatives if name not in images]
    features |= collection.repository.queries.named_features(others, datetime.now(UTC))
    if unknown := [name for name in others if name not in features]:
        raise UnknownReference(
            f"{shown(unknown[0])} is neither an image nor a query that is still kept ({len(unknown)} such ids in this "
            "search): leave out what was deleted or has expired."
        )
    points = _embedded(collection, active, [features[name] for name in positives + negatives])
    point = point_between(points[: len(positives)], points[len(positives) :])
    return _Origin(point, None, {seq for seq, _ in images.values()})


def _embedded(collection: Collection, active: ActiveModel, features: Sequence[FeatureMatrix]) -> Point:
    with collection.measures.timed("project"):
        return active.embed(np.stack(features))


def _nearest(collection: Collection, active: ActiveModel, origin: _Origin, options: Options) -> list[Neighbour]:
    """The nearest that the options want; fewer only if there are fewer, or if deletions keep coming between."""
    _check_stamp(active)
    where, most = options.where, options.max_squared_distance
    among = None if where == _EVERY else _among(collection, active, where)
    found: list[Neighbour] = []
    wanted = options.reach + len(origin.leave_out)  # what is left out is among them, or as many others are as near
    for _ in range(_ATTEMPTS):
        with collection.measures.timed("search"):
            hits = active.index.search(origin.point, wanted, among)
        within = [hit for hit in hits if most is None or hit.squared_distance <= most]
        # The filter again: what changed since `among` was read must not be shown as if it still agreed.
        images = collection.repository.images.with_seqs([hit.id for hit in within], where)
        shown = [hit for hit in within if hit.id in images and hit.id not in origin.leave_out]
        found = [_neighbour(active, images[hit.id], hit.squared_distance) for hit in shown]
        if len(found) >= options.reach or len(within) < wanted:
            break
        wanted += options.reach - len(found)  # images deleted at this moment were among them: ask for as many more
    return found[: options.reach]


def _among(collection: Collection, active: ActiveModel, where: ImageFilter) -> Among:
    return where if active.index.filters else collection.repository.images.matching(where)


def _check_stamp(active: ActiveModel) -> None:
    """Distances between embeddings of two models mean nothing; mixing them would be a fault of this program."""
    if active.index.model_version != active.version:
        raise AssertionError(f"The index is of model {active.index.model_version}, the active one is {active.version}.")


def _neighbour(active: ActiveModel, image: StoredImage, squared_distance: float) -> Neighbour:
    calibration = active.model.calibration
    probability = calibration.probability(squared_distance) if calibration else None
    return Neighbour(image, squared_distance, squared_distance < active.model.b, probability)


def _explained(
    collection: Collection, active: ActiveModel, origin: _Origin, neighbours: list[Neighbour]
) -> list[Neighbour]:
    block = collection.repository.images.features_of([neighbour.image.seq for neighbour in neighbours])
    if not len(block.seqs):
        return neighbours
    # The same as in the index, to the last bit: a row's embedding does not depend on the rows beside it.
    points = active.embed(block.features)
    explanations = {
        int(seq): Explanation(
            by_dimension(origin.point, point),
            None if origin.features is None else by_channel(active.model.metric, origin.features, features),
        )
        for seq, point, features in zip(block.seqs, points, block.features, strict=True)
    }
    return [replace(neighbour, explanation=explanations.get(neighbour.image.seq)) for neighbour in neighbours]
