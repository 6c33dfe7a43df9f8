"""Model files: kept, and given back; which of them may take over. What removes them is `pruning`."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.errors import ModelIsWorse, NoFormerModel, UnknownModel
from app.ports import Repository
from app.records import ModelRecord
from app.services.collection import Collection
from app.services.fields import nests_deeper
from embedding.backbone_identity import BackboneIdentity
from embedding.errors import BrokenModelFile
from embedding.model_file import Model, check_manifest, model_from_bytes

__all__ = [
    "KeptModel",
    "backbone_of",
    "check_may_take_over",
    "check_model",
    "former_version",
    "keep_model",
    "list_models",
    "model_file",
    "one_model",
    "register",
    "stored_model",
    "training_of",
]

_log = logging.getLogger(__name__)

_MAX_DEPTH = 32  # of a manifest, which answers show


@dataclass(frozen=True)
class KeptModel:
    """What became of an upload."""

    model: ModelRecord
    is_new: bool


def keep_model(collection: Collection, content: bytes) -> KeptModel:
    """Keep a model file of any backbone, inactive; the same again changes nothing.

    Raises: BrokenModelFile, NewerModelFile, ModelMismatch (its D and its backbone do not fit each other).
    """
    model = model_from_bytes(content, "The uploaded file")
    if nests_deeper(model.manifest(), _MAX_DEPTH):
        raise BrokenModelFile(f"The uploaded file has a manifest of more than {_MAX_DEPTH} levels: train it again.")
    models = collection.repository.models
    is_new = all(each.version != model.version for each in models.all())
    register(collection, model)
    return KeptModel(models.get(model.version), is_new)


def register(collection: Collection, model: Model) -> None:
    """Keep a model, inactive; the same again changes nothing. Raises: StoreUnavailable."""
    collection.repository.models.register(model.version, model.manifest(), model.to_bytes(), datetime.now(UTC))


def list_models(collection: Collection) -> list[ModelRecord]:
    """Every model, newest first, but for those that no answer could show, so that no row breaks the listing."""
    return [model for model in collection.repository.models.all() if _is_readable(model)]


def one_model(collection: Collection, version: str) -> ModelRecord:
    """One of them. Raises: UnknownModel."""
    model = collection.repository.models.get(version)
    if not _is_readable(model):
        raise UnknownModel(f"The manifest of model {version} in the database is damaged: use another model.")
    return model


def _is_readable(model: ModelRecord) -> bool:
    try:
        check_manifest(model.manifest)
        numbers = [model.manifest[name] for name in ("D", "d", "b")]
        return all(type(each) in (int, float) for each in numbers) and not nests_deeper(model.manifest, _MAX_DEPTH)
    except (KeyError, RecursionError, ValueError) as error:
        _log.warning("The manifest of model %s cannot be shown, it is left out: %s", model.version, error)
        return False


def model_file(collection: Collection, version: str) -> bytes:
    """The bytes of a model file. Raises: UnknownModel."""
    models = collection.repository.models
    return models.artifact(models.get(version).version)


def check_may_take_over(collection: Collection, version: str, *, force: bool) -> None:
    """Raises: UnknownModel, ModelIsWorse for one that was compared and found worse, unless it was active before."""
    model = collection.repository.models.get(version)
    if force or model.activated or not _is_worse(model):
        return
    raise ModelIsWorse(
        f"Model {version} was compared with the one that was active and is worse: GET /v1/models/{version} shows how. "
        'Leave it, or send {"force": true} to activate it all the same.'
    )


def former_version(collection: Collection) -> str:
    """The model to go back to. Raises: NoFormerModel."""
    version = collection.repository.models.former()
    if version is None:
        raise NoFormerModel(
            "No other model was active before, or it is not kept any more: activate one that GET /v1/models lists."
        )
    return version


def training_of(model: ModelRecord) -> Mapping[str, Any]:
    """How it was made, as its manifest says; a manifest may hold anything."""
    training = model.manifest.get("training")
    return training if isinstance(training, Mapping) else {}


def backbone_of(model: ModelRecord) -> BackboneIdentity | None:
    """None for a damaged manifest."""
    try:
        return BackboneIdentity.from_json(model.manifest["backbone"])
    except (KeyError, TypeError, ValueError):
        return None


def _is_worse(model: ModelRecord) -> bool:
    """What is no comparison says nothing."""
    comparison = training_of(model).get("comparison")
    return isinstance(comparison, Mapping) and comparison.get("verdict") == "worse"


def stored_model(repository: Repository, version: str) -> Model:
    """Raises: UnknownModel, ModelFileError and its kinds if its bytes were damaged."""
    return model_from_bytes(repository.models.artifact(version), f"model {version}")


def check_model(collection: Collection, model: Model) -> None:
    """Raises: ModelMismatch unless the collection's features come from the model's backbone."""
    backbone = collection.repository.backbone()
    if backbone is not None:
        model.check_backbone(backbone)
