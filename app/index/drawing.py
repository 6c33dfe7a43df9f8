"""Some of the ids that a server holds, drawn at random without asking it for all of them."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["drawn_ids"]

_ROUNDS = 4  # after these, more than nine of ten ids in the range are free: then all are asked for
_SPARE = 1.5  # candidates for each id that is still wanted, so that one round mostly is enough

Ids = npt.NDArray[np.int64]


def drawn_ids(
    count: int,
    rng: np.random.Generator,
    extent: tuple[int, int],
    there: Callable[[Ids], Ids],
    all_ids: Callable[[], Ids],
) -> Ids:
    """That many ids, each as likely as every other, in random order; all, if there are no more.

    extent: the smallest and the greatest id. there: those of some ids (n,) that are held, in any order. all_ids: all
    that are. The same generator gives the same ids as long as those that are held stay the same.

    >>> held = np.array([3, 5, 7, 9])
    >>> ids = drawn_ids(3, np.random.default_rng(0), (3, 9), lambda some: np.intersect1d(some, held), lambda: held)
    >>> len(ids), np.isin(ids, held).all()
    (3, np.True_)
    """
    first, last = extent
    found = np.empty(0, np.int64)
    if last - first + 1 > 2 * count:
        for _ in range(_ROUNDS):
            candidates = rng.integers(first, last + 1, int(_SPARE * (count - len(found))) + 8)
            new = np.setdiff1d(candidates, found)  # sorted, each once
            found = np.concatenate([found, rng.permutation(np.sort(there(new)))])
            if len(found) >= count:
                return found[:count]
    everything = np.sort(all_ids())
    return rng.choice(everything, min(count, len(everything)), replace=False)
