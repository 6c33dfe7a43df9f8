"""HTTP/1.1 as the server reads it: connections without a request do not stay, and refusals are problem documents."""

import asyncio
import logging
import uuid
from contextvars import copy_context
from http import HTTPStatus
from typing import Any, ClassVar

import h11
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.api.errors import problem
from app.api.headers import HEADERS
from app.api.request_ids import HEADER
from app.logs import REQUEST_ID

__all__ = ["Protocol", "say_rarely_that_files_are_used_up"]

_log = logging.getLogger(__name__)

_MOST = 10_000  # connections, however many files there may be: each takes memory too
_SAY_AGAIN_S = 60.0


def _half_of_the_files() -> int:
    """The other half is for the database, pictures and snapshots."""
    try:
        import resource
    except ImportError:  # not on Windows, where sockets are no files
        return _MOST
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if most == resource.RLIM_INFINITY else min(most // 2, _MOST)


class Protocol(H11Protocol):
    """uvicorn's, which lets a connection stay for ever that never sends a whole head, and takes any number of them."""

    head_s: ClassVar = 20.0  # from the connection, or the answer before, to the end of a request's headers
    most: ClassVar = _half_of_the_files()

    _overdue: asyncio.TimerHandle | None = None  # none while a request is answered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_a_request()
        if len(self.connections) > self.most:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._wait_for_a_request()  # what is left of a body that nobody wanted may take no longer either
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        detail = f"{msg} What came is not HTTP/1.1, or its headers are too long."
        self._refuse(HTTPStatus.BAD_REQUEST, "bad_request", detail)

    def _unsupported_upgrade_warning(self) -> None:
        """There are no WebSockets here, and a request that would like one is answered like any other."""

    def _wait_for_a_request(self) -> None:
        self._stop_waiting()
        self._overdue = self.loop.call_later(self.head_s, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._overdue:
            self._overdue.cancel()
            self._overdue = None

    def _make_room(self) -> None:
        """Close the connection that has waited longest for a request; this one if all others are at work."""
        waiting = [(each._overdue.when(), id(each), each) for each in self._peers() if each._overdue]
        _, _, oldest = min(waiting)
        self.connections.discard(oldest)
        if oldest is self:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "busy", "All connections are at work: try again in a moment.")
        else:
            oldest.transport.abort()

    def _peers(self) -> "list[Protocol]":
        return [each for each in self.connections if isinstance(each, Protocol)]

    def _refuse(self, status: HTTPStatus, code: str, detail: str) -> None:
        """Answer in place of the application, unless it has begun to answer, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            answer = copy_context().run(_refusal, status, code, detail)
            head = h11.Response(status_code=status, headers=answer.raw_headers, reason=status.phrase.encode())
            for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle:
            self.cycle.disconnected = True  # nothing may follow
        self.transport.close()


def _refusal(status: HTTPStatus, code: str, detail: str) -> Response:
    REQUEST_ID.set(request_id := uuid.uuid4().hex)
    retry_after = {"Retry-After": "5"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    headers = {**HEADERS, **retry_after, HEADER: request_id, "Connection": "close"}
    return problem(status, code, detail, headers=headers)


def say_rarely_that_files_are_used_up(loop: asyncio.AbstractEventLoop) -> None:
    """asyncio would say it thousands of times: it goes on taking connections for which there is no room."""
    said_last = -_SAY_AGAIN_S

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal said_last
        if "accept() out of system resource" not in context["message"]:
            loop.default_exception_handler(context)
        elif loop.time() - said_last >= _SAY_AGAIN_S:
            said_last = loop.time()
            _log.error("no connection can be taken (%s): raise the limit of open files", context["exception"])

    loop.set_exception_handler(handle)
