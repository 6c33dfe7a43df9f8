"""How far the newest model has learned, and what is new since."""

from collections.abc import Mapping
from typing import Any

from app.ports import Repository
from app.records import Marks, NewToLearn
from app.services.collection import Collection

__all__ = ["learned_marks", "marks_from", "new_to_learn"]


def new_to_learn(collection: Collection) -> NewToLearn:
    """What nobody has learned from yet. Raises: StoreUnavailable."""
    repository = collection.repository
    return repository.new_since(learned_marks(repository))


def learned_marks(repository: Repository) -> Marks:
    """Those of the newest model that says which verdicts it knows; without one, nothing is learned."""
    of_models = (_collection_of(model.manifest) for model in repository.models.all())  # the newest first
    return next((marks for fields in of_models if (marks := marks_from(fields))), Marks())


def marks_from(fields: Any) -> Marks | None:
    """Marks as a manifest's `training.collection` has them; None: it says nothing of verdicts.

    Other programs write it: whatever stands there, there is an answer.
    """
    if not isinstance(fields, Mapping) or (last_pair := _number(fields.get("last_pair"))) is None:
        return None
    return Marks(last_pair, _number(fields.get("last_category")) or 0, _number(fields.get("last_undo")) or 0)


def _collection_of(manifest: Mapping[str, Any]) -> Any:
    training = manifest.get("training")
    return training.get("collection") if isinstance(training, Mapping) else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
