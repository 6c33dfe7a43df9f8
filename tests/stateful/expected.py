"""What the service should hold, in plain dictionaries, and how each request should change it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from app.records import ImageFilter
from tests.app.test_filters import agrees

__all__ = ["Expected", "Kept", "Upload", "Verdict", "canonical"]


@dataclass(frozen=True)
class Upload:
    """A picture of the pool, with what is said about it."""

    picture: int
    id: str | None
    category: str | None
    metadata: Mapping[str, Any] | None


@dataclass
class Kept:
    """An image that the service should have."""

    picture: int
    category: str | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    left: str
    right: str
    similar: bool

    @property
    def key(self) -> frozenset[str]:
        return frozenset((self.left, self.right))


@dataclass
class Expected:
    images: dict[str, Kept] = field(default_factory=dict)  # in the order of addition
    verdicts: dict[frozenset[str], bool] = field(default_factory=dict)  # in the order in which they were given
    queries: list[str] = field(default_factory=list)

    @property
    def references(self) -> list[str]:
        """What feedback may name."""
        return [*self.images, *self.queries]

    def holder_of(self, picture: int) -> str | None:
        """The id of the image with these bytes."""
        return next((name for name, kept in self.images.items() if kept.picture == picture), None)

    def status_of_adding(self, upload: Upload) -> int:
        if self.holder_of(upload.picture):
            return 200
        return 409 if upload.id in self.images else 201

    def add(self, name: str, upload: Upload) -> None:
        self.images[name] = Kept(upload.picture, upload.category or None, upload.metadata or {})

    def delete(self, name: str) -> None:
        """Its verdicts go too: the id may be given to another picture."""
        del self.images[name]
        self.verdicts = {key: similar for key, similar in self.verdicts.items() if name not in key}

    def change(self, name: str, changes: Mapping[str, Any]) -> None:
        kept = self.images[name]
        if "category" in changes:
            kept.category = changes["category"] or None
        if "metadata" in changes:
            kept.metadata = merge_patch(kept.metadata, changes["metadata"]) or {}

    def record(self, verdicts: Sequence[Verdict]) -> int:
        """The latest counts; one that says nothing new changes nothing. Returns how many did."""
        new = [verdict for verdict in {v.key: v for v in verdicts}.values() if self._is_new(verdict)]
        for verdict in new:
            self.verdicts.pop(verdict.key, None)  # it moves to the end
            self.verdicts[verdict.key] = verdict.similar
        return len(new)

    def filtered(self, where: ImageFilter) -> list[str]:
        return [name for name, kept in self.images.items() if agrees(kept.category, kept.metadata, where)]

    def _is_new(self, verdict: Verdict) -> bool:
        return self.verdicts.get(verdict.key) is not verdict.similar


def merge_patch(target: Any, patch: Any) -> Any:
    """The pseudocode of RFC 7396, section 2, line by line."""
    if not isinstance(patch, dict):
        return patch
    if not isinstance(target, dict):
        target = {}
    target = dict(target)
    for name, value in patch.items():
        if value is None:
            if name in target:
                del target[name]
        else:
            target[name] = merge_patch(target.get(name), value)
    return target


def canonical(value: object) -> str:
    """Equal for equal JSON: 1.0 is 1, which is not true; the order of members means nothing."""

    def number(digits: str) -> str:
        return f"the number {Decimal(digits).normalize()}"

    return json.dumps(json.loads(json.dumps(value), parse_int=number, parse_float=number), sort_keys=True)
