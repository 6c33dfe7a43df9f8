"""From image bytes to features."""

from collections.abc import Sequence
from typing import Protocol

from app.records import Box, FeatureMatrix, Picture
from embedding.backbone_identity import BackboneIdentity

__all__ = ["Backbones", "Extraction", "Extractor"]


class Extractor(Protocol):
    """Image bytes -> features, with the limits on what an image may cost."""

    @property
    def backbone(self) -> BackboneIdentity:
        """Where its features come from; what it decoded is for this one alone."""

    @property
    def batch_size(self) -> int:
        """How many pictures at once are extracted fastest."""

    @property
    def max_bytes(self) -> int:
        """Of a file that is not refused for its length."""

    def decode(self, data: bytes, *, thumbnail: bool = False, crop: Box | None = None) -> Picture:
        """Decode, crop and shrink. Raises: UnsupportedImage, BrokenImage, ImageTooLarge."""

    def features(self, pictures: Sequence[Picture]) -> FeatureMatrix:
        """Features (n, D) of n pictures. Raises: BadFeatures."""

    def waited_s(self) -> float:
        """For how long somebody has been waiting for the oldest batch that is not done, in seconds; 0: nobody."""


class Extraction(Protocol):
    """The same for requests, which wait beside each other on the event loop.

    Whoever is cancelled while waiting leaves no work behind that has not begun.
    """

    @property
    def backbone(self) -> BackboneIdentity:
        """As `Extractor.backbone`."""

    async def decoded(self, data: bytes, *, thumbnail: bool = False, crop: Box | None = None) -> Picture:
        """As `Extractor.decode`."""

    async def features(self, picture: Picture) -> FeatureMatrix:
        """Features (D,) of one picture. Raises: BadFeatures."""

    async def features_of_file(self, data: bytes, *, crop: Box | None = None) -> FeatureMatrix:
        """Features (D,) of a picture of which nothing else is needed. Raises: as `Extractor.decode`, BadFeatures."""


class Backbones(Protocol):
    """The backbones that are at hand on this machine."""

    def check(self, backbone: BackboneIdentity) -> None:
        """As far as that is quick. Raises: BackboneUnavailable."""

    def open(self, backbone: BackboneIdentity) -> tuple[Extractor, Extraction]:
        """Load it and warm it up; both end when nobody holds them any more. Raises: BackboneUnavailable."""
