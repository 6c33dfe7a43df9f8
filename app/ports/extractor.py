"""From image bytes to features."""

from collections.abc import Sequence
from typing import Protocol

from app.records import (
    FeatureMatrix,
    Picture,
)

__all__ = ["Extractor"]


class Extractor(Protocol):
    """Image bytes -> features, with the limits on what an image may cost."""

    @property
    def batch_size(self) -> int:
        """How many pictures at once are extracted fastest."""

    @property
    def max_bytes(self) -> int:
        """Of a file that is not refused for its length."""

    def decode(self, data: bytes, *, thumbnail: bool = False) -> Picture:
        """Decode and shrink. Raises: UnsupportedImage, BrokenImage, ImageTooLarge."""

    def features(self, pictures: Sequence[Picture]) -> FeatureMatrix:
        """Features (n, D) of n pictures. Raises: BadFeatures."""
