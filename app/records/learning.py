"""What the next model is learned from, and the models."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.records.images import FeatureMatrix

__all__ = ["Counts", "Erased", "Extent", "ModelRecord", "QueryFeatures", "QueryRecord"]


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
class Extent:
    """How much there is to learn from at one instant, and where it ends."""

    images: int
    queries: int  # that pairs name
    pairs: int  # with a verdict that counts
    last_image: int  # the greatest seq of an image
    last_pair: int  # the greatest seq of a verdict that was not taken back; 0: there is none
    last_category: int  # the greatest number of a change of a category; 0: there was none
    last_undo: int  # the greatest number of an undo; 0: there was none


@dataclass(frozen=True)
class ModelRecord:
    """A model in the database, without its bytes."""

    version: str
    manifest: Mapping[str, Any]
    created: datetime
    active: bool
    activated: datetime | None = None  # when it took over last
    has_report: bool = False


@dataclass(frozen=True)
class Erased:
    """What a change of the backbone erased: features of pictures that are not kept."""

    queries: int
    verdicts: int  # that named one of them; a group that loses some of its members is one


@dataclass(frozen=True)
class Counts:
    """How much there is."""

    images: int
    queries: int
    pairs: int  # with a verdict that counts
    verdicts: int  # pairs with one of their own that counts, and groups
