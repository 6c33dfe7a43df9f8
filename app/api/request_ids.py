"""An id for each request: in its answer, in its problem document, in every line of the log that it causes."""

import re
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.logs import REQUEST_ID
from app.secrecy import masked

__all__ = ["HEADER", "RequestIds"]

HEADER = "X-Request-Id"

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")  # nothing that means something in a header, a log or a page


class RequestIds:
    """Take the id that a client or a proxy sends, if it is one; else make one."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _sent(scope) or uuid.uuid4().hex

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        REQUEST_ID.set(
            request_id
        )  # not taken back: a request is a task of its own, and the server may have a last word
        await self.app(scope, receive, send_with_id)


def _sent(scope: Scope) -> str | None:
    sent = Headers(scope=scope).getlist(HEADER)
    if len(sent) != 1 or not _ID.fullmatch(sent[0]):
        return None
    return sent[0] if masked(sent[0]) == sent[0] else None  # a key in the wrong header does not come back
