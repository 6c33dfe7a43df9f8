"""Does the learn jobs of a service until it is told to stop."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.client import (
    ClaimedJob,
    ConnectionFailed,
    Forbidden,
    Samekind,
    ServerError,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
)
from trainer.update.job import TOLD
from trainer.update.reporter import LeftOff

__all__ = ["Watch"]

_LONGEST_WAIT_S = 60.0  # between two questions to a service that is away
_AGAIN_AFTER_S = 600.0  # learning is asked for again with nothing more to learn from

_AWAY = (ConnectionFailed, Unavailable, TooManyRequests, ServerError)
_HOPELESS = (Unauthenticated, Forbidden)  # a key does not get better by waiting


@dataclass(frozen=True)
class _Try:
    """The job that was asked for last."""

    new: int
    time_s: float


class Watch:
    """Asks the service for a job every poll_s seconds.

    The service decides when learning is due. every: ask it for learning when so much is new, whatever it decides.
    """

    def __init__(
        self,
        client: Samekind,
        do: Callable[[ClaimedJob], object],
        every: int | None,
        poll_s: float,
        say: Callable[[str], None],
    ):
        self._client = client
        self._do = do
        self._every = every
        self._poll_s = poll_s
        self._say = say
        self._last: _Try | None = None

    def run(self) -> None:
        """Until something raises: a signal, or an error that waiting does not mend. Raises: SamekindError."""
        wait_s = self._poll_s
        while True:
            try:
                self.look()
                wait_s = self._poll_s
            except _AWAY as error:
                wait_s = max(self._poll_s, min(2 * wait_s, _LONGEST_WAIT_S))
                self._say(f"the service is away, asking again in {wait_s:g} s: {error}")
            time.sleep(wait_s)

    def look(self) -> None:
        """Ask once, and do the job that there is. Raises: SamekindError if the service is away, or refuses the key."""
        claimed = self._client.claim_job() or self._own()
        if claimed is not None:
            self._did(claimed)

    def _own(self) -> ClaimedJob | None:
        if self._every is None:
            return None
        new, now_s = _count_of_new(self._client), time.monotonic()
        if not self.is_due(self._every, new, now_s):
            return None
        self._last = _Try(new, now_s)
        return self._client.claim_job(new=True)

    def is_due(self, every: int, new: int, now_s: float) -> bool:
        """Whether enough is new, and also new since the last try, unless that is long ago."""
        if new < every:
            return False
        last = self._last
        if last is None or new < last.new:  # the last try has learned from what was new then
            return True
        return new >= last.new + every or now_s >= last.time_s + _AGAIN_AFTER_S

    def _did(self, claimed: ClaimedJob) -> None:
        """A job that fails, whatever from, is told; those that come later are not worse for it."""
        try:
            self._do(claimed)
        except LeftOff as error:
            self._say(f"left off: {error}")
        except (*_AWAY, *_HOPELESS):  # no fault of the job: `run` knows what to do
            raise
        except Exception as error:  # a program that ended here would be started again, and fail again at once
            self._say(f"learning failed: {str(error) if isinstance(error, TOLD) else repr(error)}")


def _count_of_new(client: Samekind) -> int:
    """In the unit of SAMEKIND_LEARN_EVERY."""
    return client.stats().new.total
