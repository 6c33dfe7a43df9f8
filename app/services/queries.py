"""What a search asks for: by what, how many, among which."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.errors import BadLimit, BadSearch, shown
from app.records import Box, ImageFilter

__all__ = [
    "MAX_EXPLAINED",
    "ByExamples",
    "ByImage",
    "ByUpload",
    "ByUrl",
    "Options",
    "Query",
    "check_batch",
    "check_query",
]

_MAX_IN_BATCH = 10_000  # neighbours in one answer; each brings up to 64 KiB of metadata
MAX_EXPLAINED = 100  # neighbours; the shares of all channels take about a millisecond each


@dataclass(frozen=True)
class ByUpload:
    """A picture that is not stored."""

    data: bytes
    crop: Box | None = None


@dataclass(frozen=True)
class ByImage:
    """A stored image, or a part of it; it is left out of its neighbours."""

    image_id: str
    crop: Box | None = None


@dataclass(frozen=True)
class ByExamples:
    """Ids of images or of kept queries, each counted once; all are left out."""

    positives: Sequence[str]
    negatives: Sequence[str] = ()


@dataclass(frozen=True)
class ByUrl:
    """A picture elsewhere."""

    url: str
    crop: Box | None = None


Query = ByUpload | ByImage | ByExamples | ByUrl


@dataclass(frozen=True)
class Options:
    """How many of the nearest, after how many, among which."""

    k: int = 10
    offset: int = 0
    where: ImageFilter = field(default_factory=ImageFilter)
    max_squared_distance: float | None = None
    explain: bool = False

    @property
    def reach(self) -> int:
        """How many of the nearest are looked at: those that are passed over count too."""
        return self.offset + self.k

    def check(self, max_k: int) -> None:
        """Raises: BadLimit."""
        if not 1 <= self.k <= max_k:
            raise BadLimit(f"k must be 1 to {max_k}, got {shown(self.k)}.")
        if self.offset < 0:
            raise BadLimit(f"offset must be 0 or more, got {shown(self.offset)}.")
        if self.reach > max_k:
            raise BadLimit(f"k + offset must be at most {max_k}, got {self.k} + {shown(self.offset)}.")
        if self.explain and self.k > MAX_EXPLAINED:
            raise BadLimit(
                f"With explain, k must be 1 to {MAX_EXPLAINED}, got {self.k}: ask for fewer, with offset for the next."
            )
        _check_distance(self.max_squared_distance)


def check_batch(ks: Sequence[int], max_k: int) -> None:
    """ks: how many neighbours each search of a batch asks for; those out of range will fail alone. Raises: BadLimit."""
    wanted = sum(k for k in ks if 0 < k <= max_k)
    if wanted > _MAX_IN_BATCH:
        raise BadLimit(
            f"The searches of one batch may ask for {_MAX_IN_BATCH:,} neighbours together, these ask for {wanted:,}: "
            "send several calls, or smaller k."
        )


def check_query(query: Query) -> None:
    """What can be said without looking anything up. Raises: BadSearch."""
    if isinstance(query, ByExamples):
        _check_examples(query)
    elif query.crop is not None and not _has_area(query.crop):
        box = query.crop
        raise BadSearch(
            "crop must be a box with 0 <= left < right <= 1 and 0 <= top < bottom <= 1, got "
            f"left {box.left}, top {box.top}, right {box.right}, bottom {box.bottom}."
        )


def _check_examples(query: ByExamples) -> None:
    if not query.positives:
        raise BadSearch("A search by examples needs one positive at least.")
    if both := set(query.positives).intersection(query.negatives):
        raise BadSearch(f"{shown(min(both))} is a positive and a negative example: decide.")


def _has_area(box: Box) -> bool:
    return 0 <= box.left < box.right <= 1 and 0 <= box.top < box.bottom <= 1


def _check_distance(max_squared_distance: float | None) -> None:
    """Raises: BadLimit."""
    if max_squared_distance is not None and not 0 <= max_squared_distance < math.inf:
        raise BadLimit(f"max_squared_distance must be a finite number, 0 or more, got {max_squared_distance}.")
