"""Another backbone takes over: features of all images are extracted again from their originals.

They gather in the database beside the ones in use, so that what a killed process had done is not done again. Requests
go on with the backbone, the model and the index that are active. When only a few images are left, changes are held up,
those few are extracted, and everything changes together: in the database in one transaction, then in memory. Whoever
had begun with the former backbone begins again, see `steady`.
"""

import logging
from datetime import UTC, datetime

from app.errors import MissingFile
from app.records import Erased
from app.services.activation import ACTIVATE, REEXTRACT, Watcher, warm_up
from app.services.collection import ActiveModel, Collection
from app.services.gathering import Gathering
from app.services.indexing import bring_up, catch_up
from embedding.model_file import Model

__all__ = ["change_backbone", "forget_needless_features"]

_log = logging.getLogger(__name__)

_FEW = 16  # images that may be left for the moment in which changes are held up: a batch of the backbone
_LOOKS = 8


def change_backbone(collection: Collection, model: Model, watcher: Watcher) -> Erased:
    """Extract, embed and switch.

    Raises: BackboneUnavailable, MissingFile if some originals cannot be read, BadFeatures, StoreUnavailable, and what
    the watcher raises; then nothing was changed, and what was extracted is kept.
    """
    taking_over = _TakingOver(collection, model, watcher)
    if collection.repository.backbone() == model.backbone:  # the switch was done, but no answer of the database came
        return taking_over.in_memory_only()
    collection.is_switching = False
    return taking_over.everywhere()


def forget_needless_features(collection: Collection) -> None:
    """Of a change that was cancelled or is long over; one that failed can be begun again. Raises: StoreUnavailable."""
    jobs = collection.repository.jobs
    if any(jobs.unfinished(kind) for kind in (ACTIVATE, REEXTRACT)):  # either may be gathering them
        return
    last = jobs.last(REEXTRACT)
    if last is None or last.state in ("done", "cancelled"):
        collection.repository.next_features.clear()


class _TakingOver:
    def __init__(self, collection: Collection, model: Model, watcher: Watcher):
        self._collection = collection
        self._watcher = watcher
        self._extractor, self._extraction = collection.backbones.open(model.backbone)
        warm_up(model.metric)
        version = model.version
        self._active = ActiveModel(version, model, collection.new_index(model.metric.embedding_dim, version))

    def everywhere(self) -> Erased:
        collection, features = self._collection, self._collection.repository.next_features
        features.keep_only(self._extractor.backbone.key)
        with Gathering(collection, self._extractor, self._watcher) as gathering:
            last = self._looked(gathering)
            self._active.index.arrange()
            with collection.change:
                count = gathering.extract_missing()
                _check_whole(gathering)
                # More than a few were not all added since the look: their features were lost, and they are not indexed.
                if count > _FEW or collection.may_have_forgotten():
                    bring_up(collection.repository, self._active, self._go_on, features)
                else:
                    catch_up(collection.repository, self._active, last, collection.deleted, features)
                self._watcher.may_take_over()
                erased = self._switch()
                if collection.shared is None:
                    self._swap()
            if collection.shared:
                self._swap()  # only now, when the database says so too
            return erased

    def in_memory_only(self) -> Erased:
        with self._collection.change:
            bring_up(self._collection.repository, self._active, self._go_on)
            # Active already, unless the job of the switch was cancelled and this is one of another model.
            self._collection.repository.models.activate(self._active.version, datetime.now(UTC))
            if self._collection.shared is None:
                self._swap()
        if self._collection.shared:
            self._swap()
        return Erased(0, 0)

    def _looked(self, gathering: Gathering) -> int:
        """Extract and embed with nobody waiting, until only a few images are left; returns a seq up to which all were
        there to be seen."""
        collection = self._collection
        for _ in range(_LOOKS):
            collection.deleted.clear()  # before looking: what is deleted from now on, the look may have seen
            seqs = collection.repository.images.keys().seqs
            count = gathering.extract_missing()
            bring_up(collection.repository, self._active, self._go_on, collection.repository.next_features)
            if count <= _FEW:
                break
        _check_whole(gathering)
        return int(seqs[-1]) if len(seqs) else 0

    def _go_on(self, _count: int) -> None:
        self._watcher.may_take_over()

    def _switch(self) -> Erased:
        repository, backbone = self._collection.repository, self._active.model.backbone
        erased = Erased(0, 0)
        self._collection.is_switching = True
        try:
            erased = repository.next_features.take_over(backbone, self._active.version, datetime.now(UTC))
        except Exception:
            if self._collection.shared:  # it is done, or not, where the block of the change ends
                raise
            if repository.backbone() != backbone:  # else it was done, and only the answer was lost
                self._collection.is_switching = False
                raise
        return erased

    def _swap(self) -> None:
        """Call with `change` held, unless replicas share the collection: those follow the database."""
        collection = self._collection
        collection.active, collection.extraction, collection.extractor = self._active, self._extraction, self._extractor
        collection.is_switching = False  # last: who reads without the lock relies on it
        _log.info("Features come from backbone %s now.", self._extractor.backbone.key)


def _check_whole(gathering: Gathering) -> None:
    """Raises: MissingFile if images that are still there could not be extracted."""
    if count := gathering.count_failed():
        raise MissingFile(
            f"{count:,} images have no features of the new backbone, because their originals cannot be used: the "
            "failures of this job name them. Put the originals back with `samekind check --repair --from-backup`, or "
            "delete these images, then activate the model again: what was extracted is kept. Nothing was changed."
        )
