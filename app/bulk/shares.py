"""Who does how much: workers of a cluster's machines, rows of a batch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import CannotStart

__all__ = ["Pool", "pool_of", "rows_at_once"]

_MOST_ROWS = 512  # of a batch: as many are done again if a worker dies
_FEWEST_ROWS = 16  # a batch of the backbone
_BATCHES_A_WORKER = 8  # at least, so that workers end at about the same time


@dataclass(frozen=True)
class Pool:
    """So many workers, each with so many cores."""

    workers: int
    cores: int


def pool_of(workers: int | None, machines: Sequence[int]) -> Pool:
    """machines: the cores of each. workers: how many there shall be; None: one a machine.

    Raises: CannotStart if that is more than one a core.
    """
    machines = [cores for cores in machines if cores]
    if not machines:
        raise CannotStart("Ray's cluster has no machine with a core to work with: start some with `ray start`.")
    count = workers or len(machines)
    if count > sum(machines):
        raise CannotStart(f"{count:,} workers need as many cores, the machines have {sum(machines):,}: ask for fewer.")
    return Pool(count, _cores_of_each(count, machines))


def _cores_of_each(count: int, machines: Sequence[int]) -> int:
    """As many as leave room for all of them."""
    most = max(min(machines) // math.ceil(count / len(machines)), 1)
    return next(cores for cores in range(most, 0, -1) if sum(machine // cores for machine in machines) >= count)


def rows_at_once(total: int, workers: int) -> int:
    """How many of so many rows make a batch."""
    return min(_MOST_ROWS, max(_FEWEST_ROWS, math.ceil(total / (workers * _BATCHES_A_WORKER))))
