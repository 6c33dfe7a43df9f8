"""How loops are compiled: by numba, kept on disk between runs, outside the GIL."""

from collections.abc import Callable
from typing import TypeVar

from numba import njit

__all__ = ["compiled"]

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile on first call for the types it is called with; the machine code is cached beside the source.

    Sums may be contracted and reordered and divisions turned into products with a reciprocal, which lets loops use the
    processor's vectors; NaN stays NaN. The order is fixed when the code is compiled, so that on one machine a run gives
    the same bits each time. Where neither the source's folder, nor
    NUMBA_CACHE_DIR, nor the user's cache folder can be written, as in a read-only container, it is compiled anew.
    """
    # error_model: Python's would test every divisor for 0 and so keep loops from being vectorised.
    options = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "arcp", "reassoc", "nsz"}}
    try:
        result: F = njit(cache=True, **options)(function)
    except RuntimeError:  # "cannot cache function": no place for the cache
        result = njit(**options)(function)
    return result
