"""Settings of the whole process that only an entry point may change; libraries never call this."""

import ctypes
import os
import sys
from typing import Any

__all__ = [
    "cores",
    "give_back_freed_memory",
    "keep_freed_memory",
    "take_short_turns",
    "tell_torch",
    "threads",
    "use_threads",
]

# From glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3

_threads = 0  # of the process, as its entry point chose; 0: it did not


def keep_freed_memory() -> None:
    """Tell glibc to reuse freed memory instead of handing it back: inference allocates the same 25 MB again and again.

    Measured on two cores with EfficientNet-Lite0, batch 16: 47 -> 70 images/s, because the kernel no longer clears
    those pages for each batch. Elsewhere than on glibc this does nothing.
    """
    if mallopt := _of_glibc("mallopt"):
        mallopt(_M_MMAP_THRESHOLD, 32 * 2**20)  # bytes; the greatest value that glibc takes
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)  # bytes


def give_back_freed_memory() -> None:
    """Hand back to the system now what `keep_freed_memory` keeps: a few large pictures at once may have taken hundreds
    of megabytes that nobody will need again. To be called once in a while. Elsewhere than on glibc this does nothing.
    """
    if malloc_trim := _of_glibc("malloc_trim"):
        malloc_trim(0)


def take_short_turns() -> None:
    """Let a thread that computes in Python go on for 1 ms, not for 5, while others wait for Python's lock.

    For programs whose threads need the lock for a moment between two things that they do without it: a core stands
    still while they wait. Measured on two cores with 16 searches by upload at once: 89 -> 104 a second.
    """
    sys.setswitchinterval(0.001)


def _of_glibc(name: str) -> Any:
    """One of its functions; None elsewhere, musl has none of these."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_threads(count: int) -> int:
    """Let feature extraction and torch have this many threads, 0 means one per core; returns the number.

    A server must have OMP_NUM_THREADS=1 in its environment before FAISS or torch are imported (FAISS reads it once, and
    with more threads than free cores its searches are 20 times slower); torch's own number is therefore set.
    """
    global _threads
    _threads = count or cores()
    if "torch" in sys.modules:
        tell_torch()
    return _threads


def threads() -> int:
    """How many `use_threads` has chosen; one per core if nobody called it."""
    return _threads or cores()


def tell_torch() -> None:
    """For who imports torch after `use_threads`, which does not: a server may never need it."""
    import torch

    if _threads:
        torch.set_num_threads(_threads)
