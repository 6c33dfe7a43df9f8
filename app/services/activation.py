"""Which model the collection is searched with.

Another one takes over while the service answers: its index is made beside the one in use, from the stored features,
with nobody waiting; then, with changes held up for a moment, it is given what was added and rid of what was deleted
meanwhile, and takes the other's place. Only what changed is looked at in that moment, not the whole collection. A
search takes model and index together, so its neighbours are of the model that its answer names.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from app.errors import StoreUnavailable
from app.ports import Repository, SharedIndexes
from app.records import JobFailure, JobRecord
from app.services.collection import ActiveModel, Collection
from app.services.following import current_model, followed
from app.services.indexing import Looked, bring_up, catch_up, embed_again, fill, save_snapshot
from app.services.jobs import add_job
from app.services.learning import add_part
from app.services.models import backbone_of, check_model, register, stored_model, training_of
from embedding.errors import BackboneUnavailable, ModelMismatch
from embedding.metric import Metric
from embedding.model_file import Model, is_trained, load_model

__all__ = [
    "ACTIVATE",
    "REEXTRACT",
    "REINDEX",
    "Watcher",
    "activate",
    "activate_version",
    "model_to_start_with",
    "rebuild",
    "start_activation",
    "start_reindex",
    "warm_up",
]

ACTIVATE, REEXTRACT, REINDEX = "activate", "reextract", "reindex"  # kinds of jobs

_log = logging.getLogger(__name__)

_FEW = 256  # changes that may be left for the moment in which others are held up: they take about 20 ms
_LOOKS = 8  # that leave more than these few; then so much is added all the time that another would be no better


@dataclass(frozen=True)
class Watcher:
    """Who is told how it goes. What one of these raises ends the work, and the model that was active stays so."""

    indexed: Callable[[int], None] = lambda _count: None  # told how many images the new index holds
    may_take_over: Callable[[], None] = lambda: None  # asked at the last moment
    extracted: Callable[[int], None] = lambda _count: None  # told how many images have features of another backbone
    failed: Callable[[JobFailure], None] = lambda _failure: None  # told which images get none


def model_to_start_with(repository: Repository, path: Path | None, *, shared: bool = False) -> Model | None:
    """The model in the file if there is one, else the one that was active last, else none.

    shared: by replicas; then that of the file comes last: a replica that starts changes nothing for the others, unless
    they have none that has learned.
    Raises: ModelFileError and its kinds.
    """
    if path is not None and not shared:
        return load_model(path)
    version = repository.models.active_version()
    active = stored_model(repository, version) if version else None
    if path is not None and (active is None or not active.is_trained):
        return load_model(path)
    return active


def activate(collection: Collection, model: Model) -> None:
    """Keep the model, embed every image with it, and search with it from now on.

    Raises: BadFeatures, StoreUnavailable; then the model that was active stays so.
    """
    if _others_stay(collection, model):
        _join(collection)
        return
    register(collection, model)
    try:
        may_take_over = partial(_check_first, collection, model)
        _take_over(collection, model, Watcher(may_take_over=may_take_over), from_snapshot=True)
    except _OvertakenError:
        _join(collection)


class _OvertakenError(Exception):
    """Another replica has activated a model while this one began with a file's."""


def _check_first(collection: Collection, model: Model) -> None:
    """Raises: _OvertakenError."""
    if _others_stay(collection, model):
        raise _OvertakenError


def _others_stay(collection: Collection, model: Model) -> bool:
    """Whether replicas search with a model that one which starts with this one leaves alone.

    An untrained one gives way to a file's, and, which only happens without images, to one of the backbone that is set.
    """
    version = collection.repository.models.active_version() if collection.shared else None
    if version is None:
        return False
    active = collection.repository.models.get(version)
    return is_trained(training_of(active)) or (not model.is_trained and backbone_of(active) == model.backbone)


def _point_to(shared: SharedIndexes, version: str) -> None:
    try:
        shared.point_to(version)
    except StoreUnavailable as error:
        _log.warning("Other programs do not find the new model's index yet, housekeeping will see to it: %s", error)


def _join(collection: Collection) -> None:
    """Use the model that replicas use; if its index is not whole, as after a restore, make it so."""
    active = current_model(collection)
    warm_up(active.model.metric)
    bring_up(collection.repository, active, indexed=lambda _: None)


def start_activation(
    collection: Collection, version: str, *, learn_job: str | None = None, lease: str | None = None
) -> JobRecord:
    """Have a stored model take over; one of another backbone only after all images are extracted again.

    learn_job, lease: what it is a part of, and is cancelled with.
    Raises: UnknownModel, BrokenModelFile, ModelMismatch if its backbone is not at hand; UnknownJob, LeaseLost if the
    learn job is not running under that lease.
    """
    collection.repository.models.get(version)
    followed(collection)
    backbone = stored_model(collection.repository, version).backbone
    if backbone == collection.extractor.backbone:
        return _added(collection, ACTIVATE, version, learn_job, lease)
    try:
        collection.backbones.check(backbone)
    except BackboneUnavailable as error:
        raise ModelMismatch(
            f"Model {version} is of another backbone than the collection's features. {error}"
        ) from error
    return _added(collection, REEXTRACT, version, learn_job, lease)


def _added(collection: Collection, kind: str, version: str, learn_job: str | None, lease: str | None) -> JobRecord:
    if learn_job is None:
        return add_job(collection, kind, {"version": version})
    return add_part(collection, learn_job, lease or "", kind, {"version": version})


def activate_version(collection: Collection, version: str, watcher: Watcher) -> bool:
    """The work of it; False: that model is active already, and nothing was done. Raises: as `activate`."""
    active = followed(collection)
    if active and active.version == version:
        return False
    model = stored_model(collection.repository, version)
    check_model(collection, model)
    _take_over(collection, model, watcher, from_snapshot=True)
    return True


def start_reindex(collection: Collection) -> JobRecord:
    """Have the index built anew."""
    current_model(collection)
    return add_job(collection, REINDEX, {})


def rebuild(collection: Collection, watcher: Watcher) -> None:
    """The work of it: embed every image again, whatever index and snapshot say. Raises: BadFeatures."""
    active = current_model(collection)
    if collection.shared:  # there is but one of that model: it is renewed while it is searched
        embed_again(collection.repository, active, watcher.indexed)
    else:
        _take_over(collection, active.model, watcher, from_snapshot=False)
    try:
        save_snapshot(collection)
    except StoreUnavailable as error:
        _log.warning("The new index could not be kept, housekeeping will try again: %s", error)


def _take_over(collection: Collection, model: Model, watcher: Watcher, *, from_snapshot: bool) -> None:
    warm_up(model.metric)
    version = model.version
    active = ActiveModel(version, model, collection.new_index(model.metric.embedding_dim, version))
    if from_snapshot:
        fill(collection.repository, collection.snapshots, active)
    last = _looked(collection, active, watcher).last
    if collection.active:  # at a start there is none that answers meanwhile: housekeeping arranges the index then
        active.index.arrange()
    with collection.change:
        if collection.may_have_forgotten():
            bring_up(collection.repository, active, watcher.indexed)
        else:
            catch_up(collection.repository, active, last, collection.deleted)
        watcher.indexed(len(active.index))
        watcher.may_take_over()
        collection.repository.models.activate(version, datetime.now(UTC))
        if collection.shared is None:
            collection.active = active
    if collection.shared:
        collection.active = active  # only now, when the database says so too
        _point_to(collection.shared, version)


def _looked(collection: Collection, active: ActiveModel, watcher: Watcher) -> Looked:
    """Look at all images with nobody waiting, until only a few are left that came or went during the last look."""
    for _ in range(_LOOKS):
        collection.deleted.clear()  # before looking: what is deleted from now on, the look may have seen
        looked = bring_up(collection.repository, active, watcher.indexed)
        if looked.changes <= _FEW:
            break
    return looked


def warm_up(metric: Metric) -> None:
    """The kernel is compiled on its first call: not in somebody's request."""
    metric.embed(np.zeros((1, metric.feature_dim), np.float32))
