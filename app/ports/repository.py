"""The database: images, queries, pairs, models, jobs, keys."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from app.ports.images import Images
from app.ports.jobs import Jobs
from app.ports.learn_jobs import LearnJobs
from app.ports.next_features import NextFeatures
from app.ports.pairs import Pairs
from app.records import (
    Counts,
    Extent,
    FeatureMatrix,
    KeyRecord,
    Marks,
    ModelRecord,
    NewToLearn,
    QueryFeatures,
    QueryRecord,
)
from embedding.backbone_identity import BackboneIdentity

__all__ = ["Keys", "Models", "Queries", "Repository"]


class Queries(Protocol):
    """Uploaded queries, kept for a while so that feedback may name them."""

    def add(self, query: QueryRecord, features: FeatureMatrix, backbone_key: str | None = None) -> bool:
        """Store a query with its features (D,).

        backbone_key: of the backbone that they come from. False, and nothing is stored: the collection's come from
        another one by now.
        """

    def named_features(self, query_ids: Sequence[str], now: datetime) -> dict[str, FeatureMatrix]:
        """Features (D,) of the queries of those ids; those that are not there or have expired are left out."""

    def purge(self, now: datetime) -> int:
        """Remove the expired queries that no verdict names which counts, with those taken back; returns how many."""

    def of_pairs(self) -> Iterator[QueryFeatures]:
        """Those that a verdict names which counts, expired or not, in the order of their ids."""


class Models(Protocol):
    """Model files by version. At most one is active."""

    def register(self, version: str, manifest: dict[str, object], artifact: bytes, now: datetime) -> None:
        """Keep a model file, inactive; does nothing if that version is there, but for replacing damaged bytes."""

    def activate(self, version: str, now: datetime) -> None:
        """Make that version the active one, in one step, as of now; nothing changes if it is so already.

        `activated` tells the order in which models took over, whatever clocks do. Raises: UnknownModel.
        """

    def active_version(self) -> str | None:
        """The version of the active model, if there is one."""

    def get(self, version: str) -> ModelRecord:
        """Raises: UnknownModel."""

    def artifact(self, version: str) -> bytes:
        """The model file's bytes. Raises: UnknownModel."""

    def all(self) -> list[ModelRecord]:
        """Every model, newest first."""

    def former(self) -> str | None:
        """The version that was active before the active one, of those that are kept."""

    def delete(self, version: str) -> None:
        """Remove a model with its report. Raises: UnknownModel, ModelInUse for the active one."""

    def put_report(self, version: str, html: str, now: datetime) -> None:
        """Keep a page about a model, in place of the one it had. Raises: UnknownModel."""

    def report(self, version: str) -> str | None:
        """The page about a model, if it has one. Raises: UnknownModel."""


class Keys(Protocol):
    """Who may use the service. Only a key's checksum is kept; a revoked one stays, so that there always was one."""

    def add(self, key: KeyRecord, sha256: str) -> None:
        """Keep a key under the sha256 of its text, 64 hexadecimal digits."""

    def all(self) -> list[KeyRecord]:
        """Every key, revoked ones too, oldest first."""

    def revoke(self, key_id: str, now: datetime) -> KeyRecord:
        """Let it be a key no more; one that was revoked before stays as it is. Raises: UnknownKey."""

    def with_sha256(self, sha256: str) -> KeyRecord | None:
        """The key whose text has that checksum, revoked or not."""

    def any(self) -> bool:
        """Whether there is or was a key."""


class Repository(Protocol):
    """The database: the truth about everything but the bytes of the originals."""

    @property
    def images(self) -> Images: ...

    @property
    def queries(self) -> Queries: ...

    @property
    def pairs(self) -> Pairs: ...

    @property
    def models(self) -> Models: ...

    @property
    def next_features(self) -> NextFeatures: ...

    @property
    def jobs(self) -> Jobs: ...

    @property
    def learn_jobs(self) -> LearnJobs: ...

    @property
    def keys(self) -> Keys: ...

    def claim_backbone(self, identity: BackboneIdentity) -> None:
        """Say where features come from, from now on. Raises: BackboneMismatch if some of another backbone are kept."""

    def backbone(self) -> BackboneIdentity | None:
        """Where features come from, once there are any."""

    def counts(self) -> Counts:
        """How much there is."""

    def has_features(self) -> bool:
        """Whether there are images or uploaded queries."""

    def extent(self) -> Extent:
        """How much there is to learn from, as one state of the database."""

    def marks(self) -> Marks:
        """How far the collection is: what was said last."""

    def new_since(self, marks: Marks) -> NewToLearn:
        """What whoever learned up to these marks does not know."""

    def ping(self) -> None:
        """Raises: StoreUnavailable if the database does not answer."""

    def damage(self) -> list[str]:
        """What the database itself finds wrong with its files."""

    def forget_deleted(self) -> None:
        """Let nothing of what was deleted lie in the database's own files any more, as far as that is ours to say."""
