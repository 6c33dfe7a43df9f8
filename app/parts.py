"""Which real parts each program is made of: the one place that picks them."""

import math
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Lock

from app.backbones import LocalBackbones
from app.errors import DataFolderInUse
from app.fetching import AllowListFetcher, NoFetcher
from app.index.faiss_index import FaissIndex
from app.index.ivf_index import IvfIndex
from app.index.milvus_indexes import MilvusIndexes
from app.index.milvus_server import milvus_place
from app.index.pgvector_index import PgvectorIndexes
from app.index.snapshot import FileSnapshots, SharedSnapshots
from app.metrics import Unmeasured
from app.operations.check import Finding, Subject, check
from app.operations.repairing import repairs_of
from app.ports import Fetcher, Measures, NewIndex, Repository, SharedIndexes, Spool
from app.services.activation import activate, model_to_start_with
from app.services.collection import ActiveModel, Collection
from app.services.components import initial_model
from app.services.duplicates import near_duplicates
from app.services.following import current_model
from app.services.housekeeping import YOUNG_S
from app.services.indexing import save_snapshot
from app.services.kept import purge_queries
from app.services.keys import check_strangers
from app.services.learn_rules import LearnRules
from app.settings import PGVECTOR, Settings
from app.store.database import Database
from app.store.folder import FolderFiles
from app.store.folder_spool import FolderSpool
from app.store.index_changes import SqlIndexChanges
from app.store.lock import JointChange, OwnTurns, ServerTurns
from app.store.opened import Store, open_store, own_store, share_store
from app.store.shared_spool import STRAY_AFTER_S, SharedSpool
from embedding.backbone import Backbone
from embedding.engine import EngineOptions
from embedding.image import ImageLimits
from embedding.kept_network import NETWORKS, user_cache_folder
from embedding.model_file import Model
from embedding.process import use_threads

__all__ = ["find_near_duplicates", "look_for_damage", "open_collection", "rebuild_index", "repair_damage"]


@contextmanager
def open_collection(
    settings: Settings,
    *,
    activated: bool = True,
    listening: bool = False,
    alone: bool = False,
    measures: Measures | None = None,
) -> Iterator[Collection]:
    """Open everything in the order in which it can fail cheaply; close it in the opposite order.

    listening: whether requests will come; then there must be a key if strangers could send them.
    activated: False makes no index, and looks neither at the model nor at the stored features: these may need a repair.
    alone: with no replica beside it, also where they share the index.
    Raises: CannotStart and its kinds, StoreUnavailable, BackboneUnavailable, ModelFileError and its kinds.
    """
    measures = measures or Unmeasured()
    use_threads(settings.threads)
    opened = share_store if settings.places.shared and not alone else own_store
    with opened(settings.places) as store, _shared_indexes(settings, store.database) as shared:
        if listening:
            check_strangers(store.repository.keys, settings.host, settings.anonymous)
        model = model_to_start_with(store.repository, settings.model, shared=bool(shared)) if activated else None
        backbones = _backbones(settings, measures)
        extractor, extraction = backbones.parts_of(_backbone(backbones, store.repository, model))
        collection = Collection(
            repository=store.repository,
            blobs=store.blobs,
            file_deletion=store.file_deletion,
            extractor=extractor,
            extraction=extraction,
            backbones=backbones,
            fetcher=_fetcher(settings),
            measures=measures,
            new_index=shared or _new_index(settings),
            snapshots=SharedSnapshots(shared) if shared else FileSnapshots(settings.snapshot),
            turns=ServerTurns(store.database) if shared else OwnTurns(),
            change=JointChange(store.database) if shared else Lock(),
            shared=shared,
            max_k=settings.max_k,
            query_retention=timedelta(seconds=settings.query_retention_s),
            job_retention=timedelta(seconds=settings.job_retention_s),
            keep_models=settings.keep_models,
            learning=_rules(settings),
            dimensions=settings.dimensions,
            components_from=settings.components_from,
            spool=_spool(settings, store),
            import_dir=settings.import_dir,
        )
        purge_queries(collection)
        if activated:
            activate(collection, _fitting(collection, model))
        yield collection


@contextmanager
def _shared_indexes(settings: Settings, database: Database) -> Iterator[SharedIndexes | None]:
    """Raises: CannotStart, StoreUnavailable."""
    if settings.index_url == PGVECTOR:
        yield PgvectorIndexes(database)
    elif settings.index_url:
        with closing(MilvusIndexes(milvus_place(settings.index_url), SqlIndexChanges(database))) as indexes:
            yield indexes
    else:
        yield None


def find_near_duplicates(settings: Settings, bound: float) -> list[tuple[str, str, float]]:
    """Ids of images that are nearly the same and their squared distance, nearest first, beside a running service too.

    Raises: CannotStart and its kinds, StoreUnavailable.
    """
    with open_store(settings.places) as store:
        images = store.repository.images
        found = sorted(near_duplicates(images, FaissIndex, bound), key=lambda pair: pair.squared_distance)
        ids = {
            seq: image.id
            for seq, image in images.with_seqs([seq for pair in found for seq in (pair.left, pair.right)]).items()
        }
    there = [pair for pair in found if pair.left in ids and pair.right in ids]
    return [(ids[pair.left], ids[pair.right], pair.squared_distance) for pair in there]


def rebuild_index(settings: Settings) -> ActiveModel:
    """Embed every image again, whatever a snapshot says. Raises: as `open_collection`."""
    with open_collection(settings, activated=False, alone=True) as collection:
        collection.snapshots.discard()
        model = model_to_start_with(collection.repository, settings.model, shared=bool(collection.shared))
        activate(collection, _fitting(collection, model))
        save_snapshot(collection)
        return current_model(collection)


def look_for_damage(settings: Settings, *, quick: bool) -> Iterator[Finding]:
    """Check, beside a running service too. Raises: CannotStart and its kinds, StoreUnavailable."""
    with open_store(settings.places) as store, _shared_indexes(settings, store.database) as shared:
        # While others add images, a file that was just written may be named in a moment.
        young_before = time.time() - YOUNG_S
        snapshots = FileSnapshots(settings.snapshot)
        spool = _spool(settings, store)
        subject = Subject(store.repository, store.blobs, snapshots, spool, young_before, quick, shared)
        yield from check(subject, repairs=None)


def repair_damage(settings: Settings, backup: Path | None, *, quick: bool) -> Iterator[Finding]:
    """Check and repair, with originals from a backup.

    Raises: as `open_collection`, BrokenBackup, DataFolderInUse while a backup is made.
    """
    with open_store(settings.places) as store:  # there is one, and writing into it makes nothing worse
        if damage := store.repository.damage():
            yield from (Finding("database", line) for line in damage)
            return
    with (
        open_collection(settings, activated=False, alone=True) as collection,
        collection.file_deletion.allowed() as allowed,
    ):
        if not allowed:
            raise DataFolderInUse("A backup of this collection is being made: repair it afterwards.")
        spool, shared = collection.spool, collection.shared
        subject = Subject(collection.repository, collection.blobs, collection.snapshots, spool, math.inf, quick, shared)
        yield from check(subject, repairs_of(collection, backup))


def _rules(settings: Settings) -> LearnRules:
    pause, lease = timedelta(seconds=settings.learn_pause_s), timedelta(seconds=settings.learn_lease_s)
    return LearnRules(settings.learn_every, pause, lease)


def _fetcher(settings: Settings) -> Fetcher:
    hosts = settings.fetchable
    return AllowListFetcher(hosts, settings.max_upload_bytes) if hosts else NoFetcher()


def _new_index(settings: Settings) -> NewIndex:
    count = settings.approximate_from
    return partial(IvfIndex, approximate_from=count) if count else FaissIndex


def _spool(settings: Settings, store: Store) -> Spool:
    """In the data folder, or, for replicas, beside the blobs."""
    if not settings.index_url:
        return FolderSpool(settings.spool)
    files = store.blobs.files
    if isinstance(files, FolderFiles):  # one that all of them have
        return FolderSpool(files.root / "spool", STRAY_AFTER_S)
    return SharedSpool(files)


def _backbones(settings: Settings, measures: Measures) -> LocalBackbones:
    limits = ImageLimits(settings.max_upload_bytes, settings.max_pixels)
    cache = (settings.cache_dir or user_cache_folder()).absolute() / NETWORKS
    engine = EngineOptions(settings.engine, settings.device, settings.precision, cache)
    return LocalBackbones(
        settings.backbone, settings.backbone_weights, settings.allow_download, engine, limits, measures
    )


def _fitting(collection: Collection, model: Model | None) -> Model:
    """That model; one that nobody has taught only for features of its own backbone."""
    if model is not None and (model.is_trained or model.backbone == collection.extractor.backbone):
        return model
    return initial_model(collection)


def _backbone(backbones: LocalBackbones, repository: Repository, model: Model | None) -> Backbone:
    """That of a model that has learned, else the one that the stored features come from, else the settings'.

    Raises: BackboneUnavailable, BackboneMismatch if the stored features come from another one than the model's.
    """
    held = repository.backbone() if repository.has_features() else None
    wanted = model.backbone if model and model.is_trained else held
    if wanted and held not in (None, wanted):
        repository.claim_backbone(wanted)  # refuses, which need not wait until that one is loaded
    backbone = backbones.load(wanted) if wanted else backbones.named()
    repository.claim_backbone(backbone.identity)
    return backbone
