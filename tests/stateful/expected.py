"""What the service should hold, in plain dictionaries, and how each request should change it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations
from typing import Any

from app.records import ImageFilter
from tests.app.test_filters import agrees

__all__ = ["Expected", "Group", "Kept", "Upload", "Verdict", "canonical"]


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
    was_named: bool  # it has a category, or had one


@dataclass(frozen=True)
class Verdict:
    left: str
    right: str
    similar: bool

    @property
    def key(self) -> frozenset[str]:
        return frozenset((self.left, self.right))


@dataclass(frozen=True)
class Group:
    same: tuple[str, ...]
    different: tuple[str, ...]

    @property
    def verdicts(self) -> list[Verdict]:
        similar = [Verdict(left, right, True) for left, right in combinations(self.same, 2)]
        return similar + [Verdict(left, right, False) for left in self.same for right in self.different]


@dataclass
class Given:
    """A verdict that was recorded, with the number of its call, and of its group."""

    verdict: Verdict
    call: int
    undone: bool = False
    group: int | None = None


@dataclass
class Expected:
    images: dict[str, Kept] = field(default_factory=dict)  # in the order of addition
    given: list[Given] = field(default_factory=list)  # in the order in which they were given
    calls: list[str] = field(default_factory=list)  # ids of those that recorded something
    queries: list[str] = field(default_factory=list)
    groups: int = 0  # that were recorded

    @property
    def voice_count(self) -> int:
        """Pairs with a verdict of their own, and groups."""
        standing = [each for each in self.given if not each.undone]
        own = {each.verdict.key for each in standing if each.group is None}
        return len(own) + len({each.group for each in standing} - {None})

    @property
    def agreeing(self) -> int:
        """Those of them that only repeat what the categories say."""
        repeats: dict[object, bool] = {}
        for each in self.given:
            if not each.undone:
                what = each.verdict.key if each.group is None else each.group
                repeats[what] = repeats.get(what, True) and self._agrees(each.verdict)
        return sum(repeats.values())

    def _agrees(self, verdict: Verdict) -> bool:
        left, right = (self.images.get(name) for name in (verdict.left, verdict.right))
        if not left or not right or left.category is None or right.category is None:
            return False
        return (left.category == right.category) == verdict.similar

    @property
    def verdicts(self) -> dict[frozenset[str], bool]:
        """Those that count, by the order of the latest about each pair. All are of one person."""
        counting: dict[frozenset[str], bool] = {}
        for verdict in (each.verdict for each in self.given if not each.undone):
            counting.pop(verdict.key, None)  # it moves to the end
            counting[verdict.key] = verdict.similar
        return counting

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
        self.images[name] = Kept(upload.picture, upload.category or None, upload.metadata or {}, bool(upload.category))

    def delete(self, name: str) -> None:
        """Its verdicts go too: the id may be given to another picture."""
        del self.images[name]
        self.given = [each for each in self.given if name not in each.verdict.key]

    def change(self, name: str, changes: Mapping[str, Any]) -> None:
        kept = self.images[name]
        if "category" in changes:
            kept.category = changes["category"] or None
            kept.was_named |= kept.category is not None
        if "metadata" in changes:
            kept.metadata = merge_patch(kept.metadata, changes["metadata"]) or {}

    def record(self, verdicts: Sequence[Verdict]) -> int:
        """The latest counts; one that says nothing new changes nothing. Returns how many did."""
        before = self.verdicts
        unlike = {each.key: each for each in verdicts if before.get(each.key) is not each.similar}
        self.given += [Given(verdict, len(self.calls)) for verdict in unlike.values()]
        return len(unlike)

    def record_group(self, group: Group) -> bool:
        """As a whole, if some of it is new."""
        before = self.verdicts
        if all(before.get(each.key) is each.similar for each in group.verdicts):
            return False
        self.given += [Given(verdict, len(self.calls), group=self.groups) for verdict in group.verdicts]
        self.groups += 1
        return True

    def take_back(self, call: int) -> int | None:
        """Returns how many verdicts, a group as one; None: nothing of that call is left."""
        left = [each for each in self.given if each.call == call]
        standing = [each for each in left if not each.undone]
        for each in standing:
            each.undone = True
        groups = {each.group for each in standing} - {None}
        return sum(each.group is None for each in standing) + len(groups) if left else None

    def filtered(self, where: ImageFilter) -> list[str]:
        return [name for name, kept in self.images.items() if agrees(kept.category, kept.metadata, where)]


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
