"""The database: images, queries, pairs, models."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from app.records import (
    Counts,
    FeatureBlock,
    FeatureMatrix,
    Fields,
    ImageFilter,
    ModelRecord,
    NewImage,
    QueryRecord,
    RecordedPairs,
    StoredImage,
    StoredKeys,
)
from embedding.backbone_identity import BackboneIdentity
from embedding.pairs import Pair

__all__ = ["Images", "Models", "Pairs", "Queries", "Repository"]


class Images(Protocol):
    """The images and their features. What a method returned is on disk."""

    def add_many(self, rows: Sequence[tuple[NewImage, FeatureMatrix]]) -> list[tuple[StoredImage, bool] | None]:
        """Store images with their features (D,), all in one transaction.

        For each: True, it is new; False, the same bytes were there, here they are; None, its id belongs to other bytes.
        Of any number of concurrent calls with the same bytes, exactly one gets True.
        """

    def get(self, image_id: str) -> StoredImage:
        """Raises: UnknownImage."""

    def find(self, image_id: str) -> StoredImage | None:
        """The image of that id, if there is one."""

    def with_sha256(self, sha256: str) -> StoredImage | None:
        """The image of those bytes, if there is one."""

    def stored_among(self, sha256s: Iterable[str]) -> set[str]:
        """Those of them that are the bytes of an image."""

    def with_seqs(self, seqs: Sequence[int]) -> dict[int, StoredImage]:
        """The images of those seqs; those that are gone are left out."""

    def page(self, limit: int, *, after: int = 0, where: ImageFilter = ...) -> list[StoredImage]:
        """At most `limit` images with a seq above `after` that the filter lets through, in the order of seq."""

    def all(self) -> Iterator[StoredImage]:
        """Every image in the order of seq."""

    def keys(self) -> StoredKeys:
        """Which images there are."""

    def features(self, image_id: str) -> FeatureMatrix:
        """Features (D,). Raises: UnknownImage."""

    def feature_blocks(self, block_rows: int, *, after: int = 0) -> Iterator[FeatureBlock]:
        """All features of a seq above `after`, in the order of seq, at most `block_rows` at a time."""

    def features_of(self, seqs: Sequence[int]) -> FeatureBlock:
        """Features of those images; those that are gone are left out."""

    def with_damaged_features(self) -> list[str]:
        """Ids of images whose features have another length than those of the collection's backbone."""

    def replace_features(self, image_id: str, features: FeatureMatrix) -> None:
        """Store other features (D,) of an image. Raises: UnknownImage."""

    def update(self, image_id: str, change: Callable[[StoredImage], Fields], now: datetime) -> StoredImage:
        """Give an image the fields that `change` makes of it, in one step.

        Raises: UnknownImage, and what `change` raises.
        """

    def set_thumbnail(self, seq: int, thumbnail: str) -> None:
        """Say which blob is the thumbnail of an image; does nothing if the image is gone."""

    def blobs_named(self, names: Iterable[str]) -> set[str]:
        """Those of the names that are an image's original or thumbnail."""

    def delete(self, image_id: str) -> StoredImage:
        """Remove an image; verdicts that name it stay, but count no more. Raises: UnknownImage."""


class Queries(Protocol):
    """Uploaded queries, kept for a while so that feedback may name them."""

    def add(self, query: QueryRecord, features: FeatureMatrix) -> None:
        """Store a query with its features (D,)."""

    def purge(self, now: datetime) -> int:
        """Remove the expired queries that no verdict names; returns how many."""


class Pairs(Protocol):
    """Verdicts about pairs. Nothing is overwritten; of several about one pair, the latest counts."""

    def record(self, pairs: Sequence[Pair], source: str | None, now: datetime) -> RecordedPairs:
        """Store the verdicts that change something, all or none of them.

        Raises: UnknownReference for an id that is neither an image nor an unexpired query.
        """

    def latest(self) -> Iterator[Pair]:
        """The verdicts that count, oldest first, left < right, without those about deleted images."""

    def dangling(self) -> int:
        """How many verdicts count although one of their ids is neither an image nor a query; none, unless by damage."""

    def retire_dangling(self) -> None:
        """Let those count no more."""


class Models(Protocol):
    """Model files by version. At most one is active."""

    def register(self, version: str, manifest: dict[str, object], artifact: bytes, now: datetime) -> None:
        """Keep a model file, inactive; does nothing if that version is there, but for replacing damaged bytes."""

    def activate(self, version: str) -> None:
        """Make that version the active one, in one step. Raises: UnknownModel."""

    def active_version(self) -> str | None:
        """The version of the active model, if there is one."""

    def get(self, version: str) -> ModelRecord:
        """Raises: UnknownModel."""

    def artifact(self, version: str) -> bytes:
        """The model file's bytes. Raises: UnknownModel."""

    def all(self) -> list[ModelRecord]:
        """Every model, newest first."""


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

    def claim_backbone(self, identity: BackboneIdentity) -> None:
        """Say where features come from, from now on. Raises: BackboneMismatch if some of another backbone are kept."""

    def backbone(self) -> BackboneIdentity | None:
        """Where features come from, once there are any."""

    def counts(self) -> Counts:
        """How much there is."""

    def ping(self) -> None:
        """Raises: StoreUnavailable if the database does not answer."""

    def damage(self) -> list[str]:
        """What the database itself finds wrong with its files."""

    def forget_deleted(self) -> None:
        """Let nothing of what was deleted lie in the database's own files any more, as far as that is ours to say."""
