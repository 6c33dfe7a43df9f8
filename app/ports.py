"""What the services need from the outside, and what each part promises. Implementations: `store`, `index`, `extractor`.

Every method may raise StoreUnavailable where a database or a blob store is behind it; all are safe to call from
several threads.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from app.records import (
    Counts,
    Extraction,
    FeatureBlock,
    FeatureMatrix,
    Hit,
    ModelRecord,
    NewImage,
    QueryRecord,
    RecordedPairs,
    StoredImage,
)
from embedding.backbone_identity import BackboneIdentity
from embedding.pairs import Pair

__all__ = ["Blobs", "Extractor", "Images", "Models", "NewIndex", "Pairs", "Queries", "Repository", "VectorIndex"]


class Images(Protocol):
    """The images and their features. What a method returned is on disk."""

    def add(self, image: NewImage, features: FeatureMatrix) -> tuple[StoredImage, bool]:
        """Store an image with its features (D,); True: it is new, False: the same bytes were there, here they are.

        Of any number of concurrent calls with the same bytes, exactly one gets True.
        Raises: IdTaken if the id belongs to other bytes.
        """

    def get(self, image_id: str) -> StoredImage:
        """Raises: UnknownImage."""

    def find(self, image_id: str) -> StoredImage | None:
        """The image of that id, if there is one."""

    def with_sha256(self, sha256: str) -> StoredImage | None:
        """The image of those bytes, if there is one."""

    def with_seqs(self, seqs: Sequence[int]) -> dict[int, StoredImage]:
        """The images of those seqs; those that are gone are left out."""

    def page(self, limit: int, *, after: int = 0, category: str | None = None) -> list[StoredImage]:
        """At most `limit` images with a seq above `after`, in the order of seq, of one category if it is given."""

    def features(self, image_id: str) -> FeatureMatrix:
        """Features (D,). Raises: UnknownImage."""

    def feature_blocks(self, block_rows: int) -> Iterator[FeatureBlock]:
        """All features in the order of seq, at most `block_rows` at a time."""

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


class Models(Protocol):
    """Model files by version. At most one is active."""

    def register(self, version: str, manifest: dict[str, object], artifact: bytes, now: datetime) -> None:
        """Keep a model file, inactive; does nothing if that version is there."""

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

    def counts(self) -> Counts:
        """How much there is."""

    def ping(self) -> None:
        """Raises: StoreUnavailable if the database does not answer."""


class Blobs(Protocol):
    """Files named by the sha256 of their content."""

    def put(self, sha256: str, content: bytes) -> None:
        """Keep the content; when this returns it survives a power cut. Does nothing if all of it is there."""

    def open(self, sha256: str) -> BinaryIO:
        """A file to read from the start; it stays readable if it is deleted meanwhile. Raises: MissingFile."""

    def delete(self, sha256: str) -> None:
        """Remove it; does nothing if it is not there."""


class VectorIndex(Protocol):
    """Exact nearest neighbours among embeddings of one model. It is derived: the database can always rebuild it."""

    @property
    def model_version(self) -> str:
        """The model that its embeddings come from; a search by any other is refused."""

    @property
    def embedding_dim(self) -> int: ...

    def __len__(self) -> int: ...

    def add(self, ids: npt.NDArray[np.int64], embeddings: npt.NDArray[np.float32]) -> None:
        """Add embeddings (n, d) under ids (n,), each at most once in a call; an id that is there is replaced."""

    def remove(self, id_: int) -> bool:
        """Forget an id; returns whether it was there."""

    def search(self, embedding: npt.NDArray[np.float32], k: int) -> list[Hit]:
        """The k nearest to an embedding (d,), nearest first, equal distances in the order of their ids.

        Distances are sum_t (x_t - y_t)^2 in float64, so that a picture is at exactly 0.0 from its copy. Fewer than k
        only if there are fewer in the index.
        """


class NewIndex(Protocol):
    """Makes an empty index."""

    def __call__(self, embedding_dim: int, model_version: str) -> VectorIndex: ...


class Extractor(Protocol):
    """Image bytes -> features, with the limits on what an image may cost."""

    def extract(self, data: bytes) -> Extraction:
        """Decode and extract. Raises: UnsupportedImage, BrokenImage, ImageTooLarge, BadFeatures."""
