"""Searching: by an uploaded picture or by a stored one."""

import logging
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from app.errors import BadLimit, StoreUnavailable
from app.records import FeatureMatrix, QueryRecord, StoredImage
from app.services.collection import ActiveModel, Collection
from app.services.fields import QUERY_PREFIX

__all__ = ["Answer", "Neighbour", "purge_queries", "search_by_image", "search_by_upload"]

_log = logging.getLogger(__name__)

_ATTEMPTS = 5  # at an answer of full length while images are deleted; each deletion that comes between costs one


@dataclass(frozen=True)
class Neighbour:
    """An image, how far it is, and what the model makes of that."""

    image: StoredImage
    squared_distance: float
    same: bool  # squared_distance < b
    probability: float | None  # of being of the same kind, if the model is calibrated


@dataclass(frozen=True)
class Answer:
    query_id: str | None  # what feedback may call an uploaded query, if it was kept
    model: str  # version
    k: int  # as asked for
    neighbours: list[Neighbour]  # nearest first


def search_by_upload(collection: Collection, data: bytes, k: int) -> Answer:
    """The k nearest to a picture that is not stored; its features are kept for a while, for feedback.

    Searching goes on where they cannot be kept, on a full disk or behind a lock: then there is no query id.

    Raises: BadLimit, NoActiveModel, BadImage and its kinds, StoreUnavailable.
    """
    active = _ready_for(collection, k)
    features = collection.extractor.features([collection.extractor.decode(data)])[0]
    neighbours = _neighbours(collection, active, features, k)
    return Answer(_keep_query(collection, features), active.version, k, neighbours)


def search_by_image(collection: Collection, image_id: str, k: int) -> Answer:
    """The k nearest to a stored image, without itself.

    Raises: BadLimit, NoActiveModel, UnknownImage, StoreUnavailable.
    """
    active = _ready_for(collection, k)
    image = collection.repository.images.get(image_id)
    features = collection.repository.images.features(image_id)
    # One more than asked for: the image itself is among them, or k others are as near.
    neighbours = _neighbours(collection, active, features, k + 1)
    return Answer(None, active.version, k, [n for n in neighbours if n.image.seq != image.seq][:k])


def purge_queries(collection: Collection) -> None:
    """Forget expired queries that no verdict names. Raises: StoreUnavailable."""
    collection.repository.queries.purge(datetime.now(UTC))


def _ready_for(collection: Collection, k: int) -> ActiveModel:
    if not 1 <= k <= collection.max_k:
        raise BadLimit(f"k must be 1 to {collection.max_k}, got {k}.")
    return collection.require_active()


def _neighbours(collection: Collection, active: ActiveModel, features: FeatureMatrix, k: int) -> list[Neighbour]:
    """The k nearest; fewer only if there are fewer, or if deletions keep coming between."""
    _check_stamp(active)
    embedding = active.embed(features[None])[0]
    found: list[Neighbour] = []
    wanted = k
    for _ in range(_ATTEMPTS):
        hits = active.index.search(embedding, wanted)
        images = collection.repository.images.with_seqs([hit.id for hit in hits])
        found = [_neighbour(active, images[hit.id], hit.squared_distance) for hit in hits if hit.id in images]
        if len(found) >= k or len(hits) < wanted:
            break
        wanted = k + len(hits) - len(found)  # images deleted at this moment were among them: ask for as many more
    return found[:k]


def _check_stamp(active: ActiveModel) -> None:
    """Distances between embeddings of two models mean nothing; mixing them would be a fault of this program."""
    if active.index.model_version != active.version:
        raise AssertionError(f"The index is of model {active.index.model_version}, the active one is {active.version}.")


def _neighbour(active: ActiveModel, image: StoredImage, squared_distance: float) -> Neighbour:
    calibration = active.model.calibration
    probability = calibration.probability(squared_distance) if calibration else None
    return Neighbour(image, squared_distance, squared_distance < active.model.b, probability)


def _keep_query(collection: Collection, features: FeatureMatrix) -> str | None:
    now = datetime.now(UTC)
    query = QueryRecord(f"{QUERY_PREFIX}{uuid.uuid4().hex}", now, now + collection.query_retention)
    try:
        collection.repository.queries.add(query, features)
    except StoreUnavailable as error:
        _log.warning("An uploaded query could not be kept, so feedback cannot name it: %s", error)
        return None
    if collection.purge_is_due():
        _try_to_purge(collection)
    return query.id


def _try_to_purge(collection: Collection) -> None:
    try:
        purge_queries(collection)
    except StoreUnavailable as error:
        _log.warning("Expired queries could not be forgotten, next time they will be: %s", error)
