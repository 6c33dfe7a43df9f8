"""How many threads numerical libraries use for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

__all__ = ["one_thread"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch and the BLAS of numpy and scipy on one thread.

    Small arrays gain nothing from more, and sums then come in one order on any number of cores. Threads that wait for a
    busy processor have cost ten times the time of one.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)
