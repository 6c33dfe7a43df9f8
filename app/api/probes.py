"""Asking parts that may hang: with a bound on the wait, and one thread for each part however many ask."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Generic, TypeVar

__all__ = ["Probe"]

T = TypeVar("T")


class Probe(Generic[T]):
    """A question to one part. Who asks while it is being answered gets that answer. Used from the event loop alone."""

    def __init__(self, ask: Callable[[], T]):
        self._ask = ask
        self._running: Future[T] | None = None

    async def answer(self, timeout_s: float) -> T:
        """Raises: TimeoutError, and what the question raises."""
        if self._running is None or self._running.done():
            self._running = self._begun()
        return await asyncio.wait_for(asyncio.wrap_future(self._running), timeout_s)

    def _begun(self) -> Future[T]:
        answer: Future[T] = Future()
        answer.set_running_or_notify_cancel()  # from now on nobody who stops waiting can cancel it for the others
        # A daemon, in no pool: a part that hangs keeps neither requests from an answer nor the program from its end.
        Thread(target=self._find, args=(answer,), name="probe", daemon=True).start()
        return answer

    def _find(self, answer: Future[T]) -> None:
        try:
            answer.set_result(self._ask())
        except BaseException as error:  # whoever waits gets it
            answer.set_exception(error)
