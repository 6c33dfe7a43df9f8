"""What the service acknowledged, and what was in flight when it was killed: that may have happened or not.

An image lies in a slot, which holds at most one at a time; each picture belongs to one slot. A slot is one thread's
own, or it is contended: in one round several threads add the same bytes to it under ids of their own, in a later one
all of them delete what is there. Ids of contended slots are used once: a verdict about one that is gone never counts.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any

from tests.crash.pictures import Picture

__all__ = ["ANY_ID", "Ledger", "Slot", "State", "Stored", "Verdicts", "pair_key"]

ANY_ID = "*"  # of an image that `samekind ingest` adds, which makes an id

Verdicts = dict[tuple[str, str], bool]


@dataclass(frozen=True)
class Stored:
    """An image as the service should tell it."""

    id: str
    sha256: str
    category: str | None
    metadata: Mapping[str, Any]

    def fits(self, other: "State") -> bool:
        """Whether what was intended is what is there; both are equal but for an id that the service chose."""
        if other is None or self.id not in (ANY_ID, other.id):
            return False
        mine, others = (self.sha256, self.category, self.metadata), (other.sha256, other.category, other.metadata)
        return mine == others


State = Stored | None  # None: no image


@dataclass
class Slot:
    """A place for one image."""

    name: str
    pictures: list[Picture]
    contended: bool = False
    known: State = None
    pending: list[State] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)  # ids that were in it once

    @property
    def may_be_empty(self) -> bool:
        """Whether no image may be in it, as far as anybody knows."""
        return self.known is None or None in self.pending

    def allows(self, actual: State) -> bool:
        """Whether that may be there after a kill."""
        return any(actual is None if state is None else state.fits(actual) for state in (self.known, *self.pending))


@dataclass
class _Verdict:
    known: bool | None = None  # None: none that counts
    pending: list[bool] = field(default_factory=list)


def pair_key(left: str, right: str) -> tuple[str, str]:
    """The two ids in the order in which the service keeps them."""
    return (left, right) if left < right else (right, left)


class Ledger:
    """The slots, by name, and the verdicts. Threads record an intent before they send, and the answer after it."""

    def __init__(self, slots: Iterable[Slot]):
        self.slots = {slot.name: slot for slot in slots}
        self.pictures = {picture.sha256: picture for slot in self.slots.values() for picture in slot.pictures}
        self._slot_of = {picture.sha256: slot for slot in self.slots.values() for picture in slot.pictures}
        self.queries: defaultdict[int, list[str]] = defaultdict(list)  # the last ones of each thread
        self.numbers = count()  # for what must be new each time
        self._verdicts: dict[tuple[str, str], _Verdict] = {}
        self._used_up: set[str] = set()  # ids of contended slots that are gone for good
        self._lock = Lock()

    @property
    def images(self) -> list[Stored]:
        """Those that are there, once what was in flight is settled."""
        return [slot.known for slot in self.slots.values() if slot.known]

    @property
    def deleted(self) -> set[str]:
        """Ids of images that were there once and are not now."""
        return {name for slot in self.slots.values() for name in slot.deleted} - {image.id for image in self.images}

    @property
    def verdict_count(self) -> int:
        """Verdicts that count."""
        return sum(verdict.known is not None for verdict in self._verdicts.values())

    def intend(self, slot: Slot, state: State) -> None:
        """About to ask for this."""
        with self._lock:
            if not (slot.contended and state and slot.known):  # its bytes are there: nothing will change
                slot.pending.append(state)

    def acknowledge(self, slot: Slot, state: State) -> None:
        """The service said that it is so."""
        with self._lock:
            self._let_go(slot, state)
            slot.known = state
            slot.pending.clear()

    def acknowledge_contended(self, slot: Slot, image_id: str) -> bool:
        """The service said that the contended bytes are there under that id; False: it cannot be."""
        with self._lock:
            candidates = [state for state in (slot.known, *slot.pending) if state and state.id == image_id]
            if not candidates or (slot.known and slot.known.id != image_id):
                return False
            slot.known = candidates[0]
            slot.pending.clear()
            return True

    def acknowledge_ingest(self, slot: Slot, image: Stored) -> None:
        """An ingest ended: its picture is there, as it was if it was there, else as that one made it."""
        with self._lock:
            if slot.known is None:
                slot.known, slot.pending = image, []
            slot.pending = [state for state in slot.pending if state]

    def intend_verdict(self, key: tuple[str, str], similar: bool) -> bool | None:
        """About to say this; returns what counts so far."""
        with self._lock:
            verdict = self._verdicts.setdefault(key, _Verdict())
            verdict.pending.append(similar)
            return verdict.known

    def acknowledge_verdict(self, key: tuple[str, str], similar: bool | None) -> None:
        """The service took it; None: it refused, because one of the two is gone."""
        with self._lock:
            verdict = self._verdicts[key]
            verdict.pending.clear()
            if self._used_up.intersection(key):  # deleted while the answer was on its way
                verdict.known = None
            elif similar is not None:
                verdict.known = similar

    def settle(self, listing: Iterable[Stored], verdicts: Verdicts) -> list[str]:
        """Compare with what is there after a kill and take over what became of the rest; returns what is wrong."""
        wrong, actual = self._by_slot(listing)
        for slot in self.slots.values():
            state = actual.get(slot.name)
            if not slot.allows(state):
                wrong.append(f"{slot.name} holds {state}, acknowledged {slot.known}, in flight {slot.pending}")
            self._let_go(slot, state)
            slot.known, slot.pending = state, []
        return wrong + self._settle_verdicts(verdicts)

    def _by_slot(self, listing: Iterable[Stored]) -> tuple[list[str], dict[str, Stored]]:
        wrong: list[str] = []
        actual: dict[str, Stored] = {}
        for image in listing:
            slot = self._slot_of.get(image.sha256)
            if slot is None or slot.name in actual:
                wrong.append(f"{image} is there, beside {actual.get(slot.name) if slot else 'all that was ever sent'}")
            else:
                actual[slot.name] = image
        return wrong, actual

    def _let_go(self, slot: Slot, state: State) -> None:
        """The image that was in the slot is not there any more, unless it is the same one."""
        gone = slot.known
        if gone is None or (state and state.id == gone.id) or gone.id == ANY_ID:
            return
        slot.deleted.add(gone.id)
        if slot.contended:
            self._used_up.add(gone.id)
        for key, verdict in self._verdicts.items():
            if gone.id in key:
                verdict.known = None

    def _settle_verdicts(self, actual: Verdicts) -> list[str]:
        there = {image.id for image in self.images}
        wrong = [f"nobody gave the verdict {key}" for key in actual.keys() - self._verdicts.keys()]
        for key, verdict in self._verdicts.items():
            allowed: set[bool | None] = {verdict.known, *verdict.pending}
            if any(name not in there and not name.startswith("q_") for name in key):
                allowed = {None}
            if actual.get(key) not in allowed:
                wrong.append(f"the verdict {key} is {actual.get(key)}, which should be one of {allowed}")
            verdict.known, verdict.pending = actual.get(key), []
        self._verdicts = {key: verdict for key, verdict in self._verdicts.items() if verdict.known is not None}
        return wrong
