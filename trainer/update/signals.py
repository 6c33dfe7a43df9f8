"""How a program is told to end."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["ending_at_signals"]


@contextmanager
def ending_at_signals(exit_code: Callable[[int], int] = lambda _number: 0) -> Iterator[None]:
    """SIGINT and SIGTERM end the program from within, so that temporary folders are removed and the service hears it.

    exit_code: of the number of the signal. As the first process of a container it would not be ended by SIGTERM at all
    without a handler.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        sys.exit(exit_code(number))

    signals = (signal.SIGINT, signal.SIGTERM)
    former = [signal.signal(number, end) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, former, strict=True):
            signal.signal(number, handler)
