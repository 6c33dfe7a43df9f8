"""The indexes that replicas share: one for each model, of which few are needed."""

import logging
from datetime import UTC, datetime, timedelta

from app.ports import SharedIndexes
from app.services.collection import Collection
from app.services.pruning import wanted_models

__all__ = ["tidy_indexes"]

_log = logging.getLogger(__name__)

_IN_FLIGHT = timedelta(minutes=10)  # that searches which began with the former model may take, with much to spare


def tidy_indexes(collection: Collection) -> None:
    """Remove those of models that nobody searches with nor is to; point other programs to that of the active one.

    Raises: StoreUnavailable.
    """
    if collection.shared is None:
        return
    with collection.turns.taken("jobs") as taken:  # else another model could take over between our looks
        if taken:
            _tidy(collection, collection.shared)


def _tidy(collection: Collection, shared: SharedIndexes) -> None:
    models = collection.repository.models
    version = models.active_version()
    if version is None:
        return
    shared.point_to(version)
    activated = models.get(version).activated
    if activated is None or datetime.now(UTC) - activated < _IN_FLIGHT:
        return
    for other in set(shared.versions()) - {version} - wanted_models(collection):
        shared.drop(other)
        _log.info("The index of model %s was removed: that model is not in use.", other)
