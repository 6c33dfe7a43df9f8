"""What the next model is learned from, and the models."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.records.images import FeatureMatrix

__all__ = ["Counts", "Extent", "ModelRecord", "QueryFeatures", "QueryRecord", "RecordedPairs"]


@dataclass(frozen=True)
class QueryRecord:
    """An uploaded query that feedback may name until it expires."""

    id: str
    created: datetime
    expires: datetime


@dataclass(frozen=True)
class QueryFeatures:
    """An uploaded query with its stored features."""

    id: str
    features: FeatureMatrix  # (D,)


@dataclass(frozen=True)
class RecordedPairs:
    """What became of the verdicts of one call."""

    recorded: int  # rows added
    unchanged: int  # verdicts that were the latest already
    similar: int  # of the recorded ones, those that say so


@dataclass(frozen=True)
class Extent:
    """How much there is to learn from at one instant, and where it ends."""

    images: int
    queries: int  # that pairs name
    pairs: int  # with a verdict that counts
    last_image: int  # the greatest seq of an image
    last_pair: int  # the greatest seq of a verdict


@dataclass(frozen=True)
class ModelRecord:
    """A model in the database, without its bytes."""

    version: str
    manifest: Mapping[str, Any]
    created: datetime
    active: bool


@dataclass(frozen=True)
class Counts:
    """How much there is."""

    images: int
    queries: int
    pairs: int  # pairs with a verdict that counts
