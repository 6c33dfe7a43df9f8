"""The collection: the parts that hold its pictures, and the model it is searched with."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from threading import Event, Lock

import numpy as np
import numpy.typing as npt

from app.errors import NotReady
from app.ports import (
    Backbones,
    Blobs,
    Change,
    Extraction,
    Extractor,
    Fetcher,
    FileDeletion,
    Measures,
    NewIndex,
    Repository,
    SharedIndexes,
    Snapshots,
    Spool,
    Turns,
    VectorIndex,
)
from app.records import FeatureMatrix
from app.services.learn_rules import LearnRules
from embedding.errors import BadFeatures
from embedding.model_file import Model

__all__ = ["NO_MODEL", "ActiveModel", "Collection", "NextLook"]

_SEARCHES_A_PURGE = 1000

# Every start activates one, so only a hand in the database, or a restore behind a running replica, brings this about.
NO_MODEL = "The database names no model as the active one: start the service again, which makes one."


@dataclass(frozen=True)
class ActiveModel:
    """A model with the index of its embeddings. They change together, so that a search never mixes two models."""

    version: str
    model: Model
    index: VectorIndex

    def embed(self, features: FeatureMatrix) -> npt.NDArray[np.float32]:
        """Features (n, D) -> embeddings (n, d), all finite. Raises: BadFeatures."""
        embeddings = self.model.metric.embed(features)
        if not np.isfinite(embeddings).all():
            raise BadFeatures(
                f"Model {self.version} gives {int((~np.isfinite(embeddings)).any(axis=1).sum())} of {len(embeddings)} "
                "pictures no finite embedding, so it cannot be searched with: activate another model."
            )
        return embeddings


@dataclass(frozen=True)
class NextLook:
    """From which image on it is worth looking whether something is due, while that model is active."""

    version: str = ""
    seq: int = 0

    def is_after(self, version: str, seq: int) -> bool:
        return self.version == version and seq < self.seq


@dataclass
class Collection:
    """Everything that the services work on. `active` is replaced as a whole; who searches takes it once.

    `extractor`, `extraction`, `active` and the features in the database are of one backbone, and change together with
    `change` held. `services.steady` is for those who read several of them without it.
    """

    repository: Repository
    blobs: Blobs
    file_deletion: FileDeletion
    extractor: Extractor  # for work in batches
    extraction: Extraction  # for requests
    backbones: Backbones
    fetcher: Fetcher
    measures: Measures
    new_index: NewIndex
    snapshots: Snapshots
    max_k: int
    query_retention: timedelta
    job_retention: timedelta
    keep_models: int  # of the newest
    dimensions: int  # d of principal components of the collection
    components_from: int  # images on there are some, while nobody has taught a model; 0: never
    spool: Spool  # where uploaded files wait for the job that adds them
    import_dir: Path | None  # what imports may read
    turns: Turns
    # The indexes that replicas share; None: this process alone owns the collection, its index is in memory.
    shared: SharedIndexes | None = None
    active: ActiveModel | None = None
    # Held while database, blobs and index change together: without it a delete could slip between the commit and the
    # index of an add (a ghost in the index), or between its blob and its commit (an image without a file).
    change: Change = field(default_factory=Lock)
    # Set from before the database has another backbone until all of the above has: ask it which one it has.
    is_switching: bool = False
    # Seqs of images whose deletion is committed, the latest: for an index that is made meanwhile.
    deleted: deque[int] = field(default_factory=lambda: deque(maxlen=10_000))
    # Set where a file could not be deleted with its image: a sweep should come before its time.
    sweep_soon: Event = field(default_factory=Event)
    # Set where a job was added: who does them need not look for one all the time.
    job_added: Event = field(default_factory=Event)
    # Set where principal components were asked for: a run that adds many images makes them between two batches.
    components_due: Event = field(default_factory=Event)
    next_look: NextLook = NextLook()  # for them
    looking: Lock = field(default_factory=Lock)  # held by the one thread that does so

    learning: LearnRules = field(default_factory=LearnRules)

    deleting: Lock = field(default_factory=Lock)  # held by the one thread that deletes files
    # Held while this replica takes over what another one activated.
    following: Lock = field(default_factory=Lock)
    # Set where something was written that a shared index has yet to be fed.
    fed_soon: Event = field(default_factory=Event)

    _searches: Iterator[int] = field(default_factory=lambda: count(1))

    def may_have_forgotten(self) -> bool:
        """Whether more was deleted than `deleted` holds. An index that replicas share hears of each by itself."""
        return self.shared is None and len(self.deleted) == self.deleted.maxlen

    def purge_is_due(self) -> bool:
        """True once in a while: expired queries are forgotten by those who search, not by a clock of our own."""
        return next(self._searches) % _SEARCHES_A_PURGE == 0

    def require_active(self) -> ActiveModel:
        """Raises: NotReady."""
        if self.active is None:
            raise NotReady(NO_MODEL)
        return self.active
