"""Jobs about the model that searches use: activation, principal components, and the index built anew."""

from app.jobs.reextraction import reextract
from app.jobs.run import Run
from app.services.activation import Watcher, activate_version, rebuild
from app.services.components import make_components
from app.services.models import stored_model

__all__ = ["activate", "components", "reindex"]


def activate(run: Run) -> str:
    """Embed all images with a stored model, then search with it; with features of its own backbone, if need be.

    Which of the two shows only now: the backbone may have changed since the job was asked for.
    Raises: UnknownModel, ModelFileError and its kinds, BadFeatures, as `reextract`.
    """
    version = run.payload["version"]
    model = stored_model(run.collection.repository, version)
    if model.backbone != run.collection.extractor.backbone:
        return reextract(run, model)
    run.expect(run.collection.repository.counts().images)
    if activate_version(run.collection, version, Watcher(run.is_at, run.check)):
        return f"Model {version} is active."
    return f"Model {version} was active already: nothing was done."


def components(run: Run) -> str:
    """Search by principal components of the collection, if nobody has taught a model yet. Raises: BadFeatures."""
    run.expect(run.collection.repository.counts().images)
    version = make_components(run.collection, Watcher(run.is_at, run.check))
    if version is None:
        return "Nothing was done: they were made already, or another model has taken over."
    return f"Model {version} is active: principal components of the collection, until something is learned."


def reindex(run: Run) -> str:
    """Embed all images again with the active model. Raises: BadFeatures."""
    run.expect(run.collection.repository.counts().images)
    rebuild(run.collection, Watcher(run.is_at, run.check))
    return "The index was built anew."
