"""The job that gives the collection another backbone."""

from app.jobs.run import Cancelled, Run
from app.services.activation import Watcher
from app.services.reextraction import change_backbone
from embedding.model_file import Model

__all__ = ["reextract"]


def reextract(run: Run, model: Model) -> str:
    """Extract features of all images with the model's backbone, then switch to both.

    Begun again it goes on with what is extracted; cancelled it forgets that.
    Raises: as `change_backbone`.
    """
    run.expect(run.collection.repository.counts().images)
    watcher = Watcher(may_take_over=run.check, extracted=run.is_at, failed=run.fail)
    try:
        erased = change_backbone(run.collection, model, watcher)
    except Cancelled:
        run.collection.repository.next_features.clear()
        raise
    return (
        f"Model {model.version} is active, and all features come from backbone {model.backbone.key}. Erased were "
        f"{erased.queries:,} uploaded queries, whose pictures are not kept, and {erased.verdicts:,} verdicts that "
        "named them."
    )
