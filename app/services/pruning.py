"""Models that go: one by one, or by the rule that keeps those that may be needed."""

import logging

from app.errors import ModelInUse, UnknownModel
from app.services.activation import ACTIVATE, REEXTRACT
from app.services.collection import Collection

__all__ = ["delete_model", "prune_models", "wanted_models"]

_log = logging.getLogger(__name__)

_ACTIVATING = (ACTIVATE, REEXTRACT)  # kinds of jobs that name a model in their payload


def delete_model(collection: Collection, version: str) -> None:
    """Remove a model with its report. Raises: UnknownModel, ModelInUse if it is active or a job is to activate it."""
    if version in wanted_models(collection):
        raise ModelInUse(f"A job is to activate model {version}: cancel that job, or wait for its end.")
    collection.repository.models.delete(version)


def prune_models(collection: Collection) -> list[str]:
    """Remove all models but the active one, the one before it, the newest ones, and those that jobs want.

    What the index snapshot holds of a former model goes when housekeeping writes it anew. Returns their versions.
    """
    models = collection.repository.models
    older = [model for model in models.all()[collection.keep_models :] if not model.active]
    # Asked afterwards: the one that was active then is not among them, so it stays if another takes over meanwhile.
    needed = {models.former(), *wanted_models(collection)}
    return [model.version for model in older if model.version not in needed and _went(collection, model.version)]


def _went(collection: Collection, version: str) -> bool:
    try:
        collection.repository.models.delete(version)
    except (ModelInUse, UnknownModel):  # it took over meanwhile, or somebody was faster
        return False
    _log.info("Model %s was removed: it is old and not in use.", version)
    return True


def wanted_models(collection: Collection) -> set[str]:
    """Versions that jobs are to activate."""
    jobs = collection.repository.jobs
    wanting = [job_id for kind in _ACTIVATING for job_id in jobs.unfinished(kind)]
    return {str(jobs.get(job_id).payload.get("version")) for job_id in wanting}
