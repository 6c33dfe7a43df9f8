"""Replicas agree about the active model: each asks the database which one it is before it relies on its own.

So an activation through one replica holds for the next request through every other one, and what was added through one
is found through all: who adds embeds with the model that the database names at that moment. A search that has begun
goes on with the model and the index that it took.
"""

import logging

from app.errors import NotReady
from app.services.collection import NO_MODEL, ActiveModel, Collection
from app.services.models import stored_model
from embedding.errors import BackboneUnavailable

__all__ = ["current_model", "followed"]

_log = logging.getLogger(__name__)


def current_model(collection: Collection) -> ActiveModel:
    """The active model of the collection. Raises: NotReady, StoreUnavailable, ModelFileError."""
    followed(collection)
    return collection.require_active()


def followed(collection: Collection) -> ActiveModel | None:
    """The same, None in a program that was opened without one, as for a repair.

    Raises: NotReady if its backbone is not at hand here, StoreUnavailable, ModelFileError.
    """
    if collection.shared is None or _is_current(collection):
        return collection.active
    with collection.following:
        if not _is_current(collection):
            _follow(collection)
    return collection.active


def _is_current(collection: Collection) -> bool:
    active = collection.active
    return active is not None and active.version == collection.repository.models.active_version()


def _follow(collection: Collection) -> None:
    version = collection.repository.models.active_version()
    if version is None:
        raise NotReady(NO_MODEL)
    model = stored_model(collection.repository, version)
    if model.backbone != collection.extractor.backbone:
        try:
            collection.extractor, collection.extraction = collection.backbones.open(model.backbone)
        except BackboneUnavailable as error:
            raise NotReady(f"Another replica has changed the collection's backbone. {error}") from error
    index = collection.new_index(model.metric.embedding_dim, model.version)
    collection.active = ActiveModel(model.version, model, index)
    _log.info("Model %s was activated by another replica; it is used from now on.", model.version)
