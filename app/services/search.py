"""Searching: by an uploaded picture or by a stored one."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from app.errors import BadLimit
from app.records import FeatureMatrix, QueryRecord, StoredImage
from app.services.collection import ActiveModel, Collection
from app.services.fields import QUERY_PREFIX

__all__ = ["Answer", "Neighbour", "purge_queries", "search_by_image", "search_by_upload"]


@dataclass(frozen=True)
class Neighbour:
    """An image, how far it is, and what the model makes of that."""

    image: StoredImage
    squared_distance: float
    same: bool  # squared_distance < b
    probability: float | None  # of being of the same kind, if the model is calibrated


@dataclass(frozen=True)
class Answer:
    query_id: str | None  # what feedback may call an uploaded query
    model: str  # version
    k: int  # as asked for
    neighbours: list[Neighbour]  # nearest first


def search_by_upload(collection: Collection, data: bytes, k: int) -> Answer:
    """The k nearest to a picture that is not stored; its features are kept for a while, for feedback.

    Raises: BadLimit, NoActiveModel, BadImage and its kinds.
    """
    active = _ready_for(collection, k)
    features = collection.extractor.extract(data).features
    neighbours = _neighbours(collection, active, features, k)
    return Answer(_keep_query(collection, features), active.version, k, neighbours)


def search_by_image(collection: Collection, image_id: str, k: int) -> Answer:
    """The k nearest to a stored image, without itself.

    Raises: BadLimit, NoActiveModel, UnknownImage.
    """
    active = _ready_for(collection, k)
    image = collection.repository.images.get(image_id)
    features = collection.repository.images.features(image_id)
    # One more than asked for: the image itself is among them, or k others are as near.
    neighbours = _neighbours(collection, active, features, k + 1)
    return Answer(None, active.version, k, [n for n in neighbours if n.image.seq != image.seq][:k])


def purge_queries(collection: Collection) -> None:
    """Forget expired queries that no verdict names."""
    collection.repository.queries.purge(datetime.now(UTC))


def _ready_for(collection: Collection, k: int) -> ActiveModel:
    if not 1 <= k <= collection.max_k:
        raise BadLimit(f"k must be 1 to {collection.max_k}, got {k}.")
    return collection.require_active()


def _neighbours(collection: Collection, active: ActiveModel, features: FeatureMatrix, k: int) -> list[Neighbour]:
    embedding = active.model.metric.embed(features[None])[0]
    hits = active.index.search(embedding, k)
    # An image that is deleted at this moment may be missing here; it is left out.
    images = collection.repository.images.with_seqs([hit.id for hit in hits])
    return [_neighbour(active, images[hit.id], hit.squared_distance) for hit in hits if hit.id in images]


def _neighbour(active: ActiveModel, image: StoredImage, squared_distance: float) -> Neighbour:
    calibration = active.model.calibration
    probability = calibration.probability(squared_distance) if calibration else None
    return Neighbour(image, squared_distance, squared_distance < active.model.b, probability)


def _keep_query(collection: Collection, features: FeatureMatrix) -> str:
    now = datetime.now(UTC)
    query = QueryRecord(f"{QUERY_PREFIX}{uuid.uuid4().hex}", now, now + collection.query_retention)
    collection.repository.queries.add(query, features)
    if collection.purge_is_due():
        purge_queries(collection)
    return query.id
