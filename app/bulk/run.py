"""A run of bulk work: the collection open beside the workers, and the batches spread over them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.bulk.cluster import pool, spread
from app.bulk.duty import Answer, Duty
from app.parts import open_collection
from app.replica import keeping_up
from app.services.collection import Collection
from app.settings import Settings

__all__ = ["BulkRun", "opened"]


@contextmanager
def opened(settings: Settings, address: str | None, workers: int | None) -> Iterator["BulkRun"]:
    """A collection that processes share, as one of them.

    address: of a Ray cluster; None: one on this machine, for this run. workers: how many; None: one a machine.
    Raises: as `open_collection`.
    """
    with open_collection(settings) as collection, keeping_up(collection):
        yield BulkRun(collection, settings, address, workers)


@dataclass(frozen=True)
class BulkRun:
    """Of `opened`."""

    collection: Collection
    settings: Settings
    address: str | None
    workers: int | None

    def do(self, duty: Duty, rows: Iterable[str], total: int, told: Callable[[Answer], None]) -> None:
        """Have so many rows done; told: of each batch when it is. Raises: as `pool` and `spread`."""
        with pool(self.address, self.workers) as workers:
            for answer in spread(workers, self.settings, duty, rows, total):
                told(answer)
