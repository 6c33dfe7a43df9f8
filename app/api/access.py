"""Who asks, and may they: keys, roles, and how much one of them may ask for."""

import math
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext

from anyio import CapacityLimiter, to_thread
from fastapi import Request
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from app.api.dependencies import collection_of
from app.errors import TooManyRequests, Unauthenticated
from app.records import Anonymous, Role
from app.services.collection import Collection
from app.services.job_keys import JobKeys
from app.services.keys import Caller, check_role, identify

__all__ = ["Access", "Limits", "admitted"]

_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)
_SOON_S = 1  # a place may be free in a moment
_ANONYMOUS = "anonymous"  # all who come without a key share one limit
_UNKNOWN = "unknown"  # and so do all whose key is none, who then slow down each other alone
_THREADS = 4  # that look up keys: those of the framework may all be waiting for something slow


class Limits:
    """How much one key may ask for: within any minute, and at once. Used from the event loop alone."""

    def __init__(self, requests_per_minute: int, concurrent_requests: int):
        """0: as many as it likes."""
        self._most_at_once = concurrent_requests
        self._at_once: Counter[str] = Counter()
        # The storage starts a thread, so there is none without need.
        self._window = MovingWindowRateLimiter(MemoryStorage()) if requests_per_minute else None
        self._rate = RateLimitItemPerMinute(max(requests_per_minute, 1))

    @contextmanager
    def place(self, who: str) -> Iterator[None]:
        """One of their places while the block runs. Raises: TooManyRequests."""
        self.count(who)
        if self._most_at_once and self._at_once[who] >= self._most_at_once:
            message = f"A key may have {self._most_at_once:,} requests at once: wait for an answer before the next one."
            raise TooManyRequests(message, _SOON_S)
        self._at_once[who] += 1
        try:
            yield
        finally:
            self._at_once[who] -= 1
            if not self._at_once[who]:
                del self._at_once[who]

    def count(self, who: str) -> None:
        """One more of their requests within the minute. Raises: TooManyRequests."""
        if self._window is None or self._window.hit(self._rate, who):
            return
        left_s = self._window.get_window_stats(self._rate, who).reset_time - time.time()
        whose = "All who come without a good key" if who == _UNKNOWN else "A key"
        message = f"{whose} may have {self._rate.amount:,} requests within a minute: send the next one later."
        raise TooManyRequests(message, max(math.ceil(left_s), 1))


class Access:
    """What an application asks of those who come."""

    def __init__(self, anonymous: Anonymous, requests_per_minute: int, concurrent_requests: int):
        self.anonymous = anonymous
        self.limits = Limits(requests_per_minute, concurrent_requests)
        self.threads = CapacityLimiter(_THREADS)
        self.job_keys = JobKeys()


@asynccontextmanager
async def admitted(request: Request, role: Role, *, for_learning: bool = False) -> AsyncIterator[None]:
    """While the request is answered: it came from somebody who has that role, within their limits.

    for_learning: the key of a learn job is enough; such keys have no limits, and count towards nobody's. Who it is
    stands in request.state.caller. Raises: NotReady, Unauthenticated, Forbidden, TooManyRequests, StoreUnavailable.
    """
    access: Access = request.app.state.access
    collection = await collection_of(request)
    try:
        caller = await _identified(request, access, collection)
    except Unauthenticated:
        access.limits.count(_UNKNOWN)
        raise
    request.state.caller = caller
    with nullcontext() if caller.job_id else access.limits.place(caller.key_id or _ANONYMOUS):
        check_role(caller, role, for_learning=for_learning)  # within the place: refusals count too
        yield


async def _identified(request: Request, access: Access, collection: Collection) -> Caller:
    """Raises: Unauthenticated, StoreUnavailable."""
    text = _key_text(request)
    if text and (caller := access.job_keys.caller(text)):
        return caller
    asked = (collection.repository.keys, text, access.anonymous)
    return await to_thread.run_sync(identify, *asked, limiter=access.threads)


def _key_text(request: Request) -> str | None:
    """What stands in the header, and nowhere else: URLs end up in logs. Raises: Unauthenticated."""
    values = request.headers.getlist("authorization")
    if not values:
        return None
    bearer = _BEARER.fullmatch(values[0]) if len(values) == 1 else None
    if bearer is None:
        raise Unauthenticated("The header Authorization must be there once, as `Authorization: Bearer KEY`.")
    return bearer[1]
