"""Room for requests that wait for the backbone: a bounded queue, and places that free when a client leaves."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from threading import Lock

from anyio import CancelScope, Event, create_task_group, current_time, fail_after
from fastapi import Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from app.errors import Busy, TooManyRequests

__all__ = ["Places", "place_in_queue", "while_connected"]

# Who sends nothing for so long has left, or wants a place without using it.
STALL_S = 30.0
# And who sends this slowly takes six minutes for the largest picture. A phone with two bars is faster.
SLOWEST_BYTES_S = 64 * 2**10
_SOON_S = 1  # a place may be free in a moment

_CLIENT_LEFT = 499  # nobody gets it; logs of other servers call it so too


class Places:
    """How many requests may have a picture in the service at once. Safe to use from several threads."""

    def __init__(self, size: int):
        self.size = size
        self.taken = 0
        self._most_of_one = (size + 1) // 2
        self._of: Counter[str] = Counter()
        self._lock = Lock()

    def take(self, key_id: str | None) -> None:
        """One key gets half of them at most; all who come without one (None) share all.

        Raises: Busy, TooManyRequests.
        """
        with self._lock:
            if self.taken >= self.size:
                raise Busy(f"{self.size:,} requests with pictures wait already: send this one again in a moment.")
            if key_id:
                self._take_one_of(key_id)
            self.taken += 1

    def free(self, key_id: str | None) -> None:
        with self._lock:
            self.taken -= 1
            if key_id:
                self._of[key_id] -= 1
                self._of += Counter()  # forgets those that have none

    def _take_one_of(self, key_id: str) -> None:
        if self._of[key_id] >= self._most_of_one:
            message = f"A key may have {self._most_of_one:,} requests with pictures at once: wait for an answer first."
            raise TooManyRequests(message, _SOON_S)
        self._of[key_id] += 1


@contextmanager
def place_in_queue(request: Request) -> Iterator[None]:
    """A place while the block runs; a request that has one already keeps to it. Raises: Busy, TooManyRequests."""
    if getattr(request.state, "has_place", False):
        yield
        return
    places: Places = request.app.state.places
    key_id: str | None = request.state.caller.key_id
    places.take(key_id)
    request.state.has_place = True
    try:
        yield
    finally:
        request.state.has_place = False
        places.free(key_id)


async def while_connected(request: Request, handle: Callable[[Request], Awaitable[Response]]) -> Response:
    """The answer; work on it ends when the client leaves, and its body may not take for ever to arrive.

    What runs in a thread is not broken off: an image that is being stored will be stored.
    """
    body = _Body(request.receive)
    answer: Response | Exception = Response(status_code=_CLIENT_LEFT)
    async with create_task_group() as watch:
        watch.start_soon(body.watch)
        try:
            with body.wanted:
                answer = await handle(Request(request.scope, body.receive))
        except ClientDisconnect:
            pass  # it left before its body was complete
        except Exception as error:  # the task group would wrap it
            answer = error
        watch.cancel_scope.cancel()
    try:
        if isinstance(answer, Exception):
            raise answer
        return answer
    finally:
        # An error and this frame would keep each other, and the body, until a full collection of garbage: minutes.
        del answer


class _Body:
    """Between a handler and its client: passes the body on and, when that is complete, waits for the client to leave.

    A handler that asks for more than the body is told when the client leaves, as the server would tell it.
    """

    def __init__(self, receive: Receive):
        self._receive = receive
        self._credit_s = STALL_S
        self._complete = Event()
        self._left = Event()
        self.wanted = CancelScope()

    async def receive(self) -> Message:
        """Raises: HTTPException, which FastAPI lets through its body parser, for a body that does not come."""
        if self._complete.is_set():
            await self._left.wait()
            return {"type": "http.disconnect"}
        began = current_time()
        try:
            with fail_after(min(STALL_S, self._credit_s)):
                message = await self._receive()
        except TimeoutError:
            raise _too_slow() from None
        self._credit_s += len(message.get("body", b"")) / SLOWEST_BYTES_S - (current_time() - began)
        if not message.get("more_body", False):
            self._complete.set()
        return message

    async def watch(self) -> None:
        """Cancel what is wanted when nobody wants it any more. Before the body is complete, its reader notices."""
        await self._complete.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._left.set()
        self.wanted.cancel()


def _too_slow() -> HTTPException:
    detail = (
        f"The body did not arrive: nothing came for {STALL_S:.0f} s, or too little. Send it again over a better line."
    )
    return HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail, {"Connection": "close"})  # what still comes is not wanted
