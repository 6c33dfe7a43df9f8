"""What a service has to learn from, pulled over its HTTP API into arrays."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.client import (
    Samekind,
    TrainingHeader,
    TrainingImage,
    TrainingPair,
    TrainingQuery,
    TrainingRecord,
)
from embedding.backbone_identity import BackboneIdentity
from trainer.errors import BadDataset, ServiceTrouble
from trainer.sampling import Labels, PairIndices
from trainer.update.hashing import place_of

__all__ = ["MAX_IMAGES", "CollectionData", "Mask", "pull"]

MAX_IMAGES = 200_000  # 512 MB of features at D = 1280

_FORMAT = 2  # of the stream
_BY_CHANCE = 3000  # rows that a sample may have above its mean; what is not written to takes no memory

Features = npt.NDArray[np.float16]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CollectionData:
    """n images, or a sample of them, with the P pairs that people have judged.

    Uploaded queries that a verdict names are images without category here.
    """

    ids: list[str]
    features: Features  # (n, D), as the backbone gave them
    categories: list[str | None]
    pairs: PairIndices  # (P,), positions among the n
    seqs: npt.NDArray[np.int64]  # (P,), of the newest verdict about each pair; greater is later
    last_pair: int  # seq of the newest verdict that was seen; 0: none
    backbone: BackboneIdentity

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def has_category(self) -> Mask:
        """Which images have one, (n,)."""
        return np.array([category is not None for category in self.categories], bool)

    @property
    def labels(self) -> Labels:
        """Of each image the number of its category, in alphabetical order; -1: it has none. (n,)"""
        names = {name: i for i, name in enumerate(sorted({name for name in self.categories if name is not None}))}
        return np.array([-1 if name is None else names[name] for name in self.categories], np.int64)

    def within(self, mask: Mask) -> "CollectionData":
        """The part of the chosen images; pairs with an end outside are left out. mask: (n,)."""
        kept = np.flatnonzero(mask)
        return replace(
            self,
            ids=[self.ids[i] for i in kept],
            features=self.features if mask.all() else self.features[kept],
            categories=[self.categories[i] for i in kept],
            pairs=self.pairs.within(mask),
            seqs=self.seqs[mask[self.pairs.left] & mask[self.pairs.right]],
        )

    def with_pairs(self, mask: Mask) -> "CollectionData":
        """All images with the chosen pairs. mask: (P,)."""
        return replace(self, pairs=self.pairs.take(np.flatnonzero(mask)), seqs=self.seqs[mask])

    def judged_by(self, pairs: PairIndices) -> "CollectionData":
        """All images with other pairs, which nobody gave: their seqs are 0."""
        return replace(self, pairs=pairs, seqs=np.zeros(len(pairs), np.int64))


def pull(client: Samekind, max_images: int = MAX_IMAGES) -> CollectionData:
    """All that the service has, or of more than max_images a sample: drawn by a hash of the id, so nearly the same each
    time. What verdicts name is always in it. Memory is that of the result.

    Raises: SamekindError; BadDataset if there are no images; ServiceTrouble if the stream is not to be understood.
    """
    header, records = _begun(client)
    share = max_images / max(header.images, 1)
    named: set[str] = set()
    if share < 1:
        # Verdicts come last in the stream; of a sample it must be known before which images they name.
        named = {end for verdict in client.feedback() for end in (verdict.left, verdict.right)}
        header, records = _begun(client)
    reading = _Reading(header, share, named)
    for record in records:
        reading.take(record)
    return reading.result()


def _begun(client: Samekind) -> tuple[TrainingHeader, Iterator[TrainingRecord]]:
    records = client.training_set()
    header = next(records, None)
    if not isinstance(header, TrainingHeader) or header.format != _FORMAT:
        raise ServiceTrouble(f"The training set is not of format {_FORMAT}: use the trainer of the service's version.")
    return header, records


class _Reading:
    """What has come of a stream so far."""

    def __init__(self, header: TrainingHeader, share: float, named: set[str]):
        if header.backbone is None or not header.feature_dim or not header.images:
            raise BadDataset("The collection is empty: add images first.")
        self._header = header
        self._backbone = _identity(header.backbone)
        self._share = share
        self._named = named
        drawn = header.images if share >= 1 else round(header.images * share) + _BY_CHANCE
        self._rows = _Rows(drawn + len(named) + header.queries, header.feature_dim)
        self._position: dict[str, int] = {}
        self._categories: list[str | None] = []
        self._pairs: list[tuple[int, int, bool, int]] = []  # left, right, similar, seq
        self._first_left_out = header.last_pair + 1

    def take(self, record: TrainingRecord) -> None:
        if isinstance(record, TrainingImage):
            if self._share >= 1 or record.id in self._named or place_of(record.id, "sample") < self._share:
                self._keep(record.id, record.category, record.features)
        elif isinstance(record, TrainingQuery):
            self._keep(record.id, None, record.features)
        elif isinstance(record, TrainingPair):
            self._judge(record)

    def _keep(self, image_id: str, category: str | None, features: bytes) -> None:
        self._position[image_id] = self._rows.append(np.frombuffer(features, "<f2"))
        self._categories.append(category)

    def _judge(self, pair: TrainingPair) -> None:
        left, right = self._position.get(pair.left), self._position.get(pair.right)
        if left is None or right is None:  # the verdict came after it was asked which images are named
            self._first_left_out = min(self._first_left_out, pair.seq)
        else:
            self._pairs.append((left, right, pair.similar, pair.seq))

    def result(self) -> CollectionData:
        pairs = np.array(self._pairs, np.int64).reshape(-1, 4)
        return CollectionData(
            ids=list(self._position),
            features=self._rows.values,
            categories=self._categories,
            pairs=PairIndices(pairs[:, 0], pairs[:, 1], pairs[:, 2].astype(bool)),
            seqs=pairs[:, 3],
            last_pair=max(self._first_left_out - 1, 0),  # so that those left out count as new the next time
            backbone=self._backbone,
        )


class _Rows:
    """Rows of features in one array, which is made larger only if there are more than were announced."""

    def __init__(self, room: int, feature_dim: int):
        self._array = np.empty((max(room, 1), feature_dim), np.float16)
        self._count = 0

    def append(self, row: Features) -> int:
        """The position of the new row. Raises: ServiceTrouble."""
        if row.shape != self._array.shape[1:]:
            raise ServiceTrouble(f"An image has {len(row)} features, the header says {self._array.shape[1]}.")
        if self._count == len(self._array):
            self._array = np.concatenate([self._array, np.empty_like(self._array[: max(1, len(self._array) // 8)])])
        self._array[self._count] = row
        self._count += 1
        return self._count - 1

    @property
    def values(self) -> Features:
        return self._array[: self._count]


def _identity(fields: dict[str, Any]) -> BackboneIdentity:
    try:
        return BackboneIdentity.from_json(fields)
    except (KeyError, TypeError, ValueError) as error:
        raise ServiceTrouble(
            f"The service names a backbone that this trainer does not understand ({error})."
        ) from error
