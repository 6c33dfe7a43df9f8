"""Principal components of the collection itself: what it is searched with while nobody has taught a model.

They are made in a job once there are enough images, and again when there are so many more. Where images come by
the thousand in one run, whoever adds them does not wait for that job's turn: see `between_batches`.
"""

import logging
import math

import numpy as np

from app.errors import AppError, Busy, StoreUnavailable
from app.ports import Repository
from app.records import FeatureMatrix, ModelRecord
from app.services.activation import Watcher, activate_version
from app.services.collection import ActiveModel, Collection, NextLook
from app.services.following import current_model
from app.services.jobs import add_job
from app.services.models import backbone_of, register, training_of
from embedding.errors import BadFeatures, EmbeddingError
from embedding.model_file import Model, is_trained
from embedding.principal import MOST_ROWS
from embedding.untrained import components_model, untrained_model

__all__ = ["COMPONENTS", "ask_for_components", "between_batches", "initial_model", "make_components"]

_log = logging.getLogger(__name__)

COMPONENTS = "components"  # kind of jobs

# So many times as many images, and components are made again. Pictures come in the order of their folders: the first
# ones of a thousand are of a part of the kinds.
_FEW, _GROWTH_OF_FEW, _GROWTH = 3000, 1.5, 10.0
_BLOCK_ROWS = 4096
_SEED = 0


class _OvertakenError(Exception):
    """Another model has taken over."""


def initial_model(collection: Collection) -> Model:
    """What a collection without a model is searched with: its components if they are due, else its plain features.

    Raises: StoreUnavailable.
    """
    repository, backbone = collection.repository, collection.extractor.backbone
    images = repository.counts().images
    if collection.components_from and images >= max(collection.components_from, 2):
        try:
            return _made(collection, images)
        except BadFeatures as error:
            _log.warning("There are no principal components of this collection: %s", error)
    return untrained_model(backbone)


def ask_for_components(collection: Collection, last_seq: int | None = None) -> None:
    """Have components made if they are due and not asked for yet. Fails nobody, and mostly looks at nothing.

    last_seq: the greatest of an image that was just added; None: none was.
    """
    active = collection.active
    if active is None or active.model.is_trained or not collection.components_from:
        return
    try:
        last_seq = collection.repository.extent().last_image if last_seq is None else last_seq
        if not collection.next_look.is_after(active.version, last_seq):
            with collection.looking:
                if not collection.next_look.is_after(active.version, last_seq):
                    _ask(collection, active, last_seq)
    except (Busy, StoreUnavailable) as error:
        _log.warning("Principal components of the collection could not be asked for: %s", error)


def _ask(collection: Collection, active: ActiveModel, last_seq: int) -> None:
    """Raises: Busy, StoreUnavailable."""
    images = collection.repository.counts().images
    missing = _due_at(collection, active) - images
    if missing <= 0:
        collection.components_due.set()
        if not collection.repository.jobs.unfinished(COMPONENTS):
            add_job(collection, COMPONENTS, {})
        # If this attempt fails, the next is with a restart, or when so many more have come.
        missing = _grown(images) - images
    # Each image that is added has a greater seq, so there cannot be enough before this one.
    collection.next_look = NextLook(active.version, last_seq + missing)


def make_components(collection: Collection, watcher: Watcher) -> str | None:
    """The work of it: the version that took over; None: they are not due, or not any more.

    Raises: BadFeatures if the images have none, StoreUnavailable, and what the watcher raises.
    """
    collection.components_due.clear()
    active, images = current_model(collection), collection.repository.counts().images
    if active.model.is_trained or images < _due_at(collection, active):
        return None
    model = _made(collection, images)
    register(collection, model)

    def may_take_over() -> None:
        if collection.repository.models.active_version() != active.version:
            raise _OvertakenError
        watcher.may_take_over()

    try:
        activate_version(collection, model.version, Watcher(watcher.indexed, may_take_over))
    except _OvertakenError:
        return None
    _log.info("The collection is searched by principal components of its %s images now.", f"{images:,}")
    return model.version


def between_batches(collection: Collection) -> None:
    """The same where a long run has made it due; what goes wrong, the job will say.

    Plain features take D numbers for each image: those of a million would not wait for the end of the run in memory.
    Where replicas share the index it is not in memory, and the job's turn is awaited.
    """
    if collection.shared or not collection.components_due.is_set():
        return
    try:
        make_components(collection, Watcher())
    except (AppError, EmbeddingError) as error:
        _log.warning("No principal components of the collection could be made: %s", error)


def _due_at(collection: Collection, active: ActiveModel) -> int:
    """At so many images."""
    records = collection.repository.models.all()
    made = (_images_of(record) for record in records if _was_searched_with(record, active))
    return max(collection.components_from, _grown(max(made, default=0)), 2)


def _grown(images: int) -> int:
    """At how many images components of so many are made anew."""
    return math.ceil((_GROWTH_OF_FEW if images < _FEW else _GROWTH) * images)


def _was_searched_with(record: ModelRecord, active: ActiveModel) -> bool:
    """An untrained one of the same backbone that took over once; one that never did is of a killed attempt."""
    is_untrained = record.activated is not None and not is_trained(training_of(record))
    return is_untrained and backbone_of(record) == active.model.backbone


def _images_of(record: ModelRecord) -> int:
    """How many there were when it was made; a manifest may hold anything."""
    count = training_of(record).get("images")
    return count if type(count) is int and count >= 0 else 0


def _made(collection: Collection, images: int) -> Model:
    """Raises: BadFeatures, StoreUnavailable."""
    features = _sampled(collection.repository)
    how = {"images": images, "rows": len(features)}
    return components_model(features, collection.dimensions, collection.extractor.backbone, how)


def _sampled(repository: Repository) -> FeatureMatrix:
    """Features (n, D) of all images, or of as many as are worth it."""
    seqs = repository.images.keys().seqs
    if len(seqs) > MOST_ROWS:
        seqs = np.sort(np.random.default_rng(_SEED).choice(seqs, MOST_ROWS, replace=False))
    blocks = [seqs[start : start + _BLOCK_ROWS].tolist() for start in range(0, len(seqs), _BLOCK_ROWS)]
    return np.concatenate([repository.images.features_of(block).features for block in blocks])
