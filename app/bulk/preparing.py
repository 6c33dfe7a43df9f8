"""What the activation of a stored model takes long for, done before it: features of its backbone, and its index.

Rows are the seqs of images. The workers read originals or features from the stores, and write features and embeddings
there, so that the job of the activation finds nothing left to do but what was added since.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.bulk.duty import Answer, Duty, Work
from app.errors import CannotStart, NotReady
from app.records import FeatureBlock, JobFailure
from app.services.activation import ACTIVATE, REEXTRACT, Watcher
from app.services.collection import ActiveModel, Collection
from app.services.following import followed
from app.services.gathering import Gathering
from app.services.models import check_may_take_over, stored_model
from embedding.backbone_identity import BackboneIdentity
from embedding.model_file import Model

__all__ = ["EmbedDuty", "ExtractDuty", "Preparation", "embedding_with", "extraction_for", "kept_meanwhile"]


@dataclass(frozen=True)
class Preparation:
    """What is to be done, for which images."""

    duty: Duty
    seqs: npt.NDArray[np.int64]

    def rows(self) -> Iterator[str]:
        return map(str, self.seqs.tolist())


class EmbedDuty:
    """Implements `app.bulk.duty.Duty`: embeds stored features with a stored model of their backbone."""

    def __init__(self, version: str):
        self._version = version

    def begin(self, collection: Collection) -> Work:
        model = _with_index(collection, stored_model(collection.repository, self._version))

        def embed(rows: Sequence[str]) -> Answer:
            block = collection.repository.images.features_of([int(row) for row in rows])
            if collection.repository.backbone() != model.model.backbone:
                raise NotReady("Another backbone took over: look which model is to be prepared now.")
            return Answer({"done": _embedded(model, block), "gone": len(rows) - len(block.seqs)})

        return embed


class ExtractDuty:
    """The same for a model of another backbone: extracts features with that, then embeds them."""

    def __init__(self, version: str):
        self._version = version

    def begin(self, collection: Collection) -> Work:
        model = _with_index(collection, stored_model(collection.repository, self._version))
        extractor, _ = collection.backbones.open(model.model.backbone)
        features = collection.repository.next_features
        failures: list[JobFailure] = []
        # Its threads end with the process.
        gathering = Gathering(collection, extractor, Watcher(failed=failures.append))

        def extract(rows: Sequence[str]) -> Answer:
            _check_still_another(collection, model.model.backbone)
            failures.clear()
            seqs = np.array([int(row) for row in rows], np.int64)
            for _ in gathering.extract(np.setdiff1d(seqs, features.features_of(seqs.tolist()).seqs)):
                pass
            done = _embedded(model, features.features_of(seqs.tolist()))
            counts = {"done": done, "failed": len(failures), "gone": len(rows) - done - len(failures)}
            return Answer(counts, [(failure.name, failure.detail) for failure in failures])

        return extract


@contextmanager
def kept_meanwhile(collection: Collection) -> Iterator[None]:
    """While the block runs no replica's housekeeping removes what no job has asked for yet.

    Raises: CannotStart if one keeps house now.
    """
    with collection.turns.taken("housekeeping") as taken:
        if not taken:
            raise CannotStart("A replica's housekeeping is under way, or another preparation: try again when it ends.")
        yield


def embedding_with(collection: Collection, version: str, *, activate: bool = False) -> Preparation:
    """Images that the index of a model lacks. activate: whether that is to follow.

    Raises: UnknownModel, CannotStart if it is of another backbone, ModelIsWorse if it may not take over.
    """
    model = _model(collection, version, activate=activate)
    if collection.repository.backbone() != model.backbone:
        raise CannotStart(
            f"Model {version} is of backbone {model.backbone.key}, the features are not: prepare it with "
            "`samekind bulk extract`."
        )
    return Preparation(EmbedDuty(version), _not_indexed(collection, model))


def extraction_for(collection: Collection, version: str, *, activate: bool = False) -> Preparation:
    """Images that have no features of a model's backbone, or that its index lacks; features of others are forgotten.

    activate: whether that is to follow. Raises: UnknownModel, BackboneUnavailable, CannotStart if it is of the
    collection's backbone or a job changes that, ModelIsWorse if it may not take over.
    """
    model = _model(collection, version, activate=activate)
    if collection.repository.backbone() == model.backbone:
        raise CannotStart(
            f"Model {version} is of the backbone that the features are of: prepare it with `samekind bulk embed`."
        )
    if any(collection.repository.jobs.unfinished(kind) for kind in (ACTIVATE, REEXTRACT)):
        raise CannotStart("A job is activating a model: wait for its end, or cancel it.")
    collection.backbones.check(model.backbone)
    features = collection.repository.next_features
    features.keep_only(model.backbone.key)
    return Preparation(ExtractDuty(version), np.union1d(features.missing(), _not_indexed(collection, model)))


def _model(collection: Collection, version: str, *, activate: bool) -> Model:
    followed(collection)
    if activate:
        check_may_take_over(collection, version, force=False)
    return stored_model(collection.repository, version)


def _check_still_another(collection: Collection, backbone: BackboneIdentity) -> None:
    """Raises: NotReady."""
    if collection.repository.backbone() == backbone:
        raise NotReady("The model's backbone has taken over meanwhile: prepare it with `samekind bulk embed`.")


def _not_indexed(collection: Collection, model: Model) -> npt.NDArray[np.int64]:
    return np.setdiff1d(collection.repository.images.keys().seqs, _with_index(collection, model).index.ids())


def _with_index(collection: Collection, model: Model) -> ActiveModel:
    """It is not active."""
    return ActiveModel(model.version, model, collection.new_index(model.metric.embedding_dim, model.version))


def _embedded(model: ActiveModel, block: FeatureBlock) -> int:
    """How many it was. Raises: BadFeatures, StoreUnavailable."""
    if len(block.seqs):
        model.index.add(block.seqs, model.embed(block.features))
    return len(block.seqs)
