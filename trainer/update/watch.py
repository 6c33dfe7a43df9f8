"""Updates whenever enough new verdicts have come, until it is told to stop."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.client import (
    ConnectionFailed,
    Forbidden,
    Samekind,
    SamekindError,
    ServerError,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
)
from embedding.errors import EmbeddingError
from trainer.errors import TrainerError

__all__ = ["Watch"]

_LONGEST_WAIT_S = 300.0  # between two questions to a service that is away
_AGAIN_AFTER_S = 600.0  # an update is tried again with the same pairs

_AWAY = (ConnectionFailed, Unavailable, TooManyRequests, ServerError)
_HOPELESS = (Unauthenticated, Forbidden)  # a key does not get better by waiting
_TOLD = (SamekindError, TrainerError, EmbeddingError)  # their text says all


@dataclass(frozen=True)
class _Try:
    """The update that was tried last."""

    new_pairs: int
    time_s: float


class Watch:
    """Asks the service how many new pairs there are every poll_s seconds."""

    def __init__(
        self,
        client: Samekind,
        update: Callable[[], object],
        every_pairs: int,
        poll_s: float,
        say: Callable[[str], None],
    ):
        self._client = client
        self._update = update
        self._every_pairs = every_pairs
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
        """Ask once, and update if that is due. Raises: SamekindError if the service is away, or refuses the key."""
        stats = self._client.stats()
        now_s = time.monotonic()
        at_once = stats.images > 0 if stats.model is None else self._is_left_behind(stats.model)
        if self.is_due(stats.new.total, now_s, at_once=at_once):
            self._tried()
            self._last = _Try(stats.new.total, now_s)

    def _is_left_behind(self, active: str) -> bool:
        """Whether the newest model was to take over and did not: an update was killed, or its activation failed. To the
        service its pairs are no longer new. Learned again it is the same one, and takes over."""
        newest = next(iter(self._client.models()), None)
        if newest is None or newest.activated is not None or newest.comparison is None:
            return False
        return newest.comparison.compared_with == active and newest.comparison.verdict != "worse"

    def is_due(self, new_pairs: int, now_s: float, *, at_once: bool) -> bool:
        """Whether enough is new, and also new since the last try, unless that is long ago. at_once: there are images
        and no model yet, so that nothing can be searched, or a model was left behind."""
        if new_pairs < self._every_pairs and not at_once:
            return False
        last = self._last
        if last is None or new_pairs < last.new_pairs:  # the last try has learned from what was new then
            return True
        return new_pairs >= last.new_pairs + self._every_pairs or now_s >= last.time_s + _AGAIN_AFTER_S

    def _tried(self) -> None:
        """An update that fails, whatever from, is told; those that come later are not worse for it."""
        try:
            self._update()
        except (*_AWAY, *_HOPELESS):  # no fault of the update: `run` knows what to do
            raise
        except Exception as error:  # a program that ended here would be started again, and fail again at once
            what = str(error) if isinstance(error, _TOLD) else repr(error)
            self._say(f"the update failed, to be tried again after more pairs or ten minutes: {what}")
