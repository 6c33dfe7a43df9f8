"""Who watches the service, and can hold it at one stage until a test has seen what comes behind."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from anyio.to_thread import run_sync

from app.metrics import Unmeasured
from app.ports import Stage

__all__ = ["Watching"]

_LONG_S = 60


class Watching(Unmeasured):
    """Counts what begins, and lets one stage wait until a test has seen it begin."""

    def __init__(self, held: Stage | None = None) -> None:
        self.begun: list[Stage] = []
        self._held = held
        self._is_let_through = False
        self._begun = Event()
        self.go_on = Event()

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        self.begun.append(stage)
        if stage == self._held and not self._is_let_through:
            self._begun.set()
            assert self.go_on.wait(_LONG_S)
        yield

    def wait_until_begun(self) -> None:
        assert self._begun.wait(_LONG_S)

    def hold_no_others(self) -> None:
        """Those that come from now on."""
        self._is_let_through = True

    async def until_begun(self) -> None:
        await run_sync(self.wait_until_begun)
