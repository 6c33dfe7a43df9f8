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
    """Those of the newest model that says which verdicts it knows, or of the last learn job where that has read on.

    It may have found that what is new teaches nothing. Without either, nothing is learned.
    """
    of_models = (_collection_of(model.manifest) for model in repository.models.all())  # the newest first
    known = next((marks for fields in of_models if (marks := marks_from(fields))), Marks())
    last = repository.jobs.last("learn")
    read = marks_from((last.result or {}).get("marks")) if last and last.state == "done" else None
    if read is None:
        return known
    names = ("last_pair", "last_category", "last_undo")
    return Marks(*(max(getattr(known, name), getattr(read, name)) for name in names))


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
