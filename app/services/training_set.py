"""All that a metric can be learned from: images with their stored features, and the verdicts about them.

It is the state of one instant, as far as its parts still exist when they are read: what is added later is left out, and
so is what is deleted before its turn. Verdicts are read last: one that counts then and was given before that instant
names images that were there all the time, so both of its ids have been read. No transaction
stays open between two parts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from app.records import FeatureMatrix
from app.services.collection import Collection
from embedding.backbone_identity import BackboneIdentity
from embedding.pairs import Pair

__all__ = ["Learnable", "TrainingSet", "training_set"]

_ROWS_AT_ONCE = 500  # 1.3 MB of features at D = 1280


@dataclass(frozen=True)
class Learnable:
    """An image, or a query that a verdict names."""

    id: str
    category: str | None
    features: FeatureMatrix  # (D,)

    @property
    def feature_bytes(self) -> bytes:
        """Float16, little endian."""
        return self.features.astype("<f2").tobytes()


@dataclass(frozen=True)
class TrainingSet:
    """What there is at one instant, and its parts, to be read once in this order."""

    backbone: BackboneIdentity | None
    image_count: int
    query_count: int
    pair_count: int
    images: Iterator[Learnable]
    queries: Iterator[Learnable]
    pairs: Iterator[Pair]


def training_set(collection: Collection) -> TrainingSet:
    """Raises: StoreUnavailable, also while its parts are read."""
    repository = collection.repository
    extent = repository.extent()
    return TrainingSet(
        backbone=repository.backbone(),
        image_count=extent.images,
        query_count=extent.queries,
        pair_count=extent.pairs,
        images=_images(collection, extent.last_image),
        queries=(Learnable(query.id, None, query.features) for query in repository.queries.of_pairs()),
        pairs=repository.pairs.latest(until=extent.last_pair),
    )


def _images(collection: Collection, last: int) -> Iterator[Learnable]:
    images = collection.repository.images
    for block in images.feature_blocks(_ROWS_AT_ONCE):
        there = images.with_seqs(block.seqs.tolist())
        for seq, features in zip(block.seqs.tolist(), block.features, strict=True):
            if seq > last:
                return
            if image := there.get(seq):
                yield Learnable(image.id, image.category, features)
