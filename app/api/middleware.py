"""Around every request: a limit on the body, and headers that keep browsers from guessing."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.errors import problem

__all__ = ["BodyLimit", "NoSniff"]

# What a multipart body holds beside the file: boundaries, headers, id, category, metadata.
_MULTIPART_SLACK_BYTES = 2**20
# 10,000 pairs of two ids of 200 characters are 4.4 MB. JSON is parsed on the event loop, so it is kept short.
_MAX_OTHER_BYTES = 5 * 2**20
# A body that comes with these all the same is read by no route, so it fills no memory. What receives it is a streamed
# answer that listens for its client to leave, and an error there would come after the answer has begun.
_WITHOUT_BODY = {"GET", "HEAD"}


class BodyLimit:
    """Refuse a body that is too long: by its declared length before a byte is read, else when it gets too long."""

    def __init__(self, app: ASGIApp, max_upload_bytes: int):
        self.app = app
        self._max_multipart_bytes = max_upload_bytes + _MULTIPART_SLACK_BYTES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        limit = self._limit(headers)
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared[:20]) > limit:
            await problem(413, "body_too_large", _too_large(limit))(scope, receive, send)
            return
        is_read = scope["method"] not in _WITHOUT_BODY
        await self.app(scope, _counting(receive, limit) if is_read else receive, send)

    def _limit(self, headers: Headers) -> int:
        is_multipart = headers.get("content-type", "").lower().startswith("multipart/form-data")
        return self._max_multipart_bytes if is_multipart else _MAX_OTHER_BYTES


class NoSniff:
    """X-Content-Type-Options on every answer: what we serve is what we say it is."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Content-Type-Options"] = "nosniff"
            await send(message)

        await self.app(scope, receive, send_with_header)


def _counting(receive: Receive, limit: int) -> Receive:
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            # Of all exceptions, FastAPI lets only this one through its body parser unchanged.
            raise HTTPException(413, _too_large(limit))
        return message

    return counted


def _too_large(limit: int) -> str:
    return f"The body is longer than {limit:,} bytes: send a smaller file, or several calls."
