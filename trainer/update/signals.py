"""How a program that runs for ever is told to end."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["ending_at_signals"]


@contextmanager
def ending_at_signals() -> Iterator[None]:
    """SIGINT and SIGTERM end the program from within, with exit code 0, so that temporary folders are removed.

    As the first process of a container it would not be ended by SIGTERM at all without a handler.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        sys.exit(0)

    signals = (signal.SIGINT, signal.SIGTERM)
    former = [signal.signal(number, end) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, former, strict=True):
            signal.signal(number, handler)
