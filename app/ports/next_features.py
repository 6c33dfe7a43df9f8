"""Features of another backbone, gathered beside the ones in use until all images have some."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.records import Erased, FeatureBlock, FeatureMatrix
from embedding.backbone_identity import BackboneIdentity

__all__ = ["NextFeatures"]


class NextFeatures(Protocol):
    """Features by the seq of their image, all of one backbone. What a method returned is on disk."""

    def keep_only(self, backbone_key: str) -> None:
        """Forget those of any other backbone, and those of images that are gone."""

    def missing(self) -> npt.NDArray[np.int64]:
        """The seqs (n,) of the images that have none here yet, in their order."""

    def add(self, backbone_key: str, seqs: Sequence[int], features: FeatureMatrix) -> None:
        """Keep features (n, D) of those images, in place of what they had; images that are gone are passed over."""

    def feature_blocks(self, block_rows: int, *, after: int = 0) -> Iterator[FeatureBlock]:
        """As `Images.feature_blocks`, of those here."""

    def features_of(self, seqs: Sequence[int]) -> FeatureBlock:
        """As `Images.features_of`, of those here."""

    def take_over(self, backbone: BackboneIdentity, version: str, now: datetime) -> Erased:
        """The switch, in one transaction: these become the images' features, `backbone` the collection's, the model of
        that version the active one; queries and the verdicts that name them are erased, their pictures are not kept.

        Raises: UnknownModel, StoreUnavailable (also if an image has no features here); then nothing was changed, unless
        the database went away at that moment: ask it for its backbone.
        """

    def clear(self) -> None:
        """Forget all."""
