"""Which slots there are: some of each thread's own, some contended, some that only `samekind ingest` fills."""

from pathlib import Path

from tests.crash.ledger import Ledger, Slot
from tests.crash.pictures import draw

__all__ = ["INGESTED", "THREADS", "category_of", "folder_slots", "make_ledger", "own_slots", "write_folder"]

THREADS = 4
_OWN = 5  # slots of a thread
_CONTENDED = 4
INGESTED = 40  # pictures in the folder: two batches and a half


def make_ledger() -> Ledger:
    """Every slot, all of them empty. Slots of two threads have the same pixels in pairs, other bytes always."""
    own = [
        Slot(f"t{thread}-{i}", [draw(i, f"t{thread}"), draw(100 + i, f"t{thread}")])
        for thread in range(THREADS)
        for i in range(_OWN)
    ]
    contended = [Slot(f"c{i}", [draw(200 + i, "c")], contended=True) for i in range(_CONTENDED)]
    ingested = [Slot(f"f{i}", [draw(300 + i // 2, f"f{i}")]) for i in range(INGESTED)]
    return Ledger([*own, *contended, *ingested])


def own_slots(ledger: Ledger, thread: int) -> list[Slot]:
    """Those that a thread fills and empties."""
    return [slot for name, slot in ledger.slots.items() if name.startswith(f"t{thread}-")]


def folder_slots(ledger: Ledger) -> list[Slot]:
    """Those of the pictures in the folder; thread i changes and empties number i, i + THREADS and so on."""
    return [slot for name, slot in ledger.slots.items() if name.startswith("f")]


def category_of(slot: Slot) -> str:
    """The category folder that its picture lies in."""
    return f"kind{int(slot.name[1:]) % 3}"


def write_folder(ledger: Ledger, folder: Path) -> None:
    """The pictures as `samekind ingest` reads them."""
    for slot in folder_slots(ledger):
        path = folder / category_of(slot) / f"{slot.name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(slot.pictures[0].data)
