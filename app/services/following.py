"""Replicas agree about the active model: each asks the database which one it is before it relies on its own.

So an activation through one replica holds for the next request through every other one, and what was added through one
is found through all: who adds embeds with the model that the database names at that moment. A search that has begun
goes on with the model and the index that it took.
"""

import logging

from app.errors import NotReady
from app.services.collection import ActiveModel, Collection
from app.services.models import stored_model
from embedding.errors import BackboneUnavailable

__all__ = ["current_model", "followed"]

_log = logging.getLogger(__name__)


def current_model(collection: Collection) -> ActiveModel:
    """The active model of the collection. Raises: NoActiveModel, NotReady, StoreUnavailable, ModelFileError."""
    followed(collection)
    return collection.require_active()


def followed(collection: Collection) -> ActiveModel | None:
    """The same, None if no model is active.

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
    version = collection.repository.models.active_version()
    if active is None or version is None:
        is_same_model = active is None and version is None
        return is_same_model and collection.repository.backbone() == collection.extractor.backbone
    return active.version == version


def _follow(collection: Collection) -> None:
    version = collection.repository.models.active_version()
    model = stored_model(collection.repository, version) if version else None
    backbone = model.backbone if model else collection.repository.backbone()
    if backbone is not None and backbone != collection.extractor.backbone:
        try:
            collection.extractor, collection.extraction = collection.backbones.open(backbone)
        except BackboneUnavailable as error:
            raise NotReady(f"Another replica has changed the collection's backbone. {error}") from error
    if model is None:
        collection.active = None
        return
    index = collection.new_index(model.metric.embedding_dim, model.version)
    collection.active = ActiveModel(model.version, model, index)
    _log.info("Model %s was activated by another replica; it is used from now on.", model.version)
