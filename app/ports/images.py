"""The images in the database, and their features."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.records import (
    CategoryCounts,
    FeatureBlock,
    FeatureMatrix,
    Fields,
    ImageFilter,
    ImageLabel,
    NewImage,
    StoredImage,
    StoredKeys,
)

__all__ = ["Images"]


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

    def with_seqs(self, seqs: Sequence[int], where: ImageFilter = ...) -> dict[int, StoredImage]:
        """The images of those seqs; those that are gone, or that the filter holds back, are left out."""

    def labels(self, seqs: Sequence[int]) -> dict[int, ImageLabel]:
        """The same without a filter, and without metadata, which may be long: cheap for many."""

    def categories(self, limit: int) -> CategoryCounts:
        """How many images there are of each category; at most `limit` categories, those with most images."""

    def matching(self, where: ImageFilter) -> npt.NDArray[np.int64]:
        """The seqs (n,) of the images that the filter lets through, in no order."""

    def without_category(self, limit: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """The seqs (n,) of at most `limit` images that have no category, from several places of the collection."""

    def page(self, limit: int, *, after: int = 0, where: ImageFilter = ...) -> list[StoredImage]:
        """At most `limit` images with a seq above `after` that the filter lets through, in the order of seq."""

    def all(self) -> Iterator[StoredImage]:
        """Every image in the order of seq."""

    def keys(self) -> StoredKeys:
        """Which images there are, in the order of seq."""

    def seqs_after(self, seq: int) -> npt.NDArray[np.int64]:
        """The greater seqs (n,) that images have, in their order."""

    def features(self, image_id: str) -> FeatureMatrix:
        """Features (D,). Raises: UnknownImage."""

    def named_features(self, image_ids: Sequence[str]) -> dict[str, tuple[int, FeatureMatrix]]:
        """Seq and features (D,) of the images of those ids; ids that no image has are left out."""

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
