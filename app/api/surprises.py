"""Errors that nobody foresaw: the log has them, the client gets an id to ask for and nothing of what went wrong.

And requests that a stop of the service breaks off, since they took longer than it could wait.
"""

import asyncio
import logging
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.errors import problem
from app.logs import REQUEST_ID, escaped

__all__ = ["Surprises"]

_log = logging.getLogger(__name__)


class Surprises:
    """Answer 500. Starlette has a place for that too, but outside all middleware: such an answer had no headers."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = has_begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except asyncio.CancelledError:
            if scope["type"] != "http" or has_begun or not scope["app"].state.is_stopping():
                raise
            await _farewell()(scope, receive, send)
        except Exception as error:
            if scope["type"] != "http" or has_begun:
                raise  # the server breaks the connection off, so that nobody takes half an answer for a whole one
            _log.exception("unforeseen error in %s %s", scope["method"], escaped(scope["path"]), exc_info=error)
            await _apology()(scope, receive, send)


def _farewell() -> ASGIApp:
    detail = "The service stopped before it could answer: look in a moment whether this was done, or send it again."
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", detail, headers={"Retry-After": "5"})


def _apology() -> ASGIApp:
    detail = f"Something went wrong that should not have. The log has it under {REQUEST_ID.get()}."
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", detail)
