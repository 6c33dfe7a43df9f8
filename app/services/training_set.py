"""All that a metric can be learned from: images with their stored features, and the verdicts about them.

It is the state of one instant, as far as its parts still exist when they are read: what is added later is left out, and
so is what is deleted before its turn. Verdicts are read last: one that counts then and was given before that instant
names images that were there all the time, so both of its ids have been read. No transaction
stays open between two parts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from app.errors import StoreUnavailable
from app.records import CountingVerdict, FeatureMatrix, Marks
from app.services.collection import Collection
from app.services.steady import OtherBackbone, check_backbone
from embedding.backbone_identity import BackboneIdentity

__all__ = ["Learnable", "TrainingSet", "training_set"]

_ROWS_AT_ONCE = 500  # 1.3 MB of features at D = 1280


@dataclass(frozen=True)
class Learnable:
    """An image, or a query that a verdict names."""

    id: str
    category: str | None
    features: FeatureMatrix  # (D,)
    sha256: str | None = None  # of the picture's bytes; None: it is not kept

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
    pairs: Iterator[CountingVerdict]
    marks: Marks  # how far whoever learns from it has learned


def training_set(collection: Collection) -> TrainingSet:
    """Raises: StoreUnavailable, also while its parts are read: then, too, if another backbone takes over."""
    repository = collection.repository
    extent, backbone = repository.extent(), repository.backbone()
    queries = (Learnable(query.id, None, query.features) for query in repository.queries.of_pairs())
    return TrainingSet(
        backbone=backbone,
        image_count=extent.images,
        query_count=extent.queries,
        pair_count=extent.pairs,
        images=_of_one_backbone(collection, backbone, _images(collection, extent.last_image)),
        queries=_of_one_backbone(collection, backbone, queries),
        pairs=repository.pairs.counting(until=extent.last_pair),
        marks=Marks(extent.last_pair, extent.last_category, extent.last_undo),
    )


def _of_one_backbone(
    collection: Collection, backbone: BackboneIdentity | None, parts: Iterator[Learnable]
) -> Iterator[Learnable]:
    """The parts as long as they are of that one, and then an error."""
    try:
        for part in parts:
            if backbone is not None:
                check_backbone(collection, backbone)
            yield part
    except OtherBackbone as error:
        raise StoreUnavailable("Another backbone took over, so these features end here: ask for all again.") from error


def _images(collection: Collection, last: int) -> Iterator[Learnable]:
    images = collection.repository.images
    for block in images.feature_blocks(_ROWS_AT_ONCE):
        there = images.with_seqs(block.seqs.tolist())
        for seq, features in zip(block.seqs.tolist(), block.features, strict=True):
            if seq > last:
                return
            if image := there.get(seq):
                yield Learnable(image.id, image.category, features, image.sha256)
