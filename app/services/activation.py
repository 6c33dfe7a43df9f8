"""Which model the collection is searched with."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from app.ports import Repository
from app.services.collection import ActiveModel, Collection
from app.services.indexing import fill
from embedding.metric import Metric
from embedding.model_file import Model, load_model, model_from_bytes

__all__ = ["activate", "model_to_start_with"]


def model_to_start_with(repository: Repository, path: Path | None) -> Model | None:
    """The model in the file if there is one, else the one that was active last, else none.

    Raises: ModelFileError and its kinds.
    """
    if path is not None:
        return load_model(path)
    version = repository.models.active_version()
    return model_from_bytes(repository.models.artifact(version), f"model {version}") if version else None


def activate(collection: Collection, model: Model) -> None:
    """Keep the model, embed every image with it, and search with it from now on.

    Raises: BadFeatures, StoreUnavailable; then the model that was active stays so.
    """
    version, models = model.version, collection.repository.models
    models.register(version, model.manifest(), model.to_bytes(), datetime.now(UTC))
    _warm_up(model.metric)
    active = ActiveModel(version, model, collection.new_index(model.metric.embedding_dim, version))
    with collection.change:
        fill(collection.repository, collection.snapshots, active)
        models.activate(version)
        collection.active = active


def _warm_up(metric: Metric) -> None:
    """The kernel is compiled on its first call: not in somebody's request."""
    metric.embed(np.zeros((1, metric.feature_dim), np.float32))
