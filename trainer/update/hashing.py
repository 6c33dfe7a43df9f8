"""A place between 0 and 1 for each text: the same in every run, on every machine, and like drawn at random."""

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

__all__ = ["place_of", "places"]

_BYTES = 8
_END = float(2 ** (8 * _BYTES))


def place_of(text: str, purpose: str) -> float:
    """In [0, 1). Places of different purposes have nothing to do with each other."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES, person=purpose.encode())
    return int.from_bytes(digest.digest()) / _END


def places(texts: Iterable[str], purpose: str) -> npt.NDArray[np.float64]:
    """The place of each, (n,)."""
    return np.array([place_of(text, purpose) for text in texts], np.float64)
