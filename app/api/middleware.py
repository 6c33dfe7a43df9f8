"""Around every request: a limit on the body."""

import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.errors import problem
from app.services.reports import MAX_REPORT_BYTES

__all__ = ["BodyLimit"]

# What a multipart body holds beside the file: boundaries, headers, id, category, metadata.
_MULTIPART_SLACK_BYTES = 2**20
# JSON is kept short: as objects it takes up to thirty times as much memory, and while it is parsed nothing else runs.
# 64 KiB of metadata are 384 KiB if each character is escaped; 10,000 pairs of ids of 200 characters are 4.4 MB; 64
# searches by 200 examples, their ids as long, are 2.6 MB.
_MAX_OTHER_BYTES = 512 * 2**10
_MAX_OF_LONG = {"/v1/feedback": 5 * 2**20, "/v1/search/batch": 3 * 2**20}
# The network of a wide model, 1280 x 8192 numbers and what follows, is 50 MB; nothing larger is worth its search time.
# Bytes are kept in memory once and in the database once, so an administrator's slip costs no more than that.
_MAX_MODEL_BYTES = 512 * 2**20
_MODELS = "/v1/models"
_REPORT = re.compile(r"/v1/models/[^/]+/report")
_BATCHES = {"/v1/images/batch", "/v1/search/batch"}
# A body that comes with these all the same is read by no route, so it fills no memory. What receives it is a streamed
# answer that listens for its client to leave, and an error there would come after the answer has begun.
_WITHOUT_BODY = {"GET", "HEAD"}

# A proxy in front may believe the other one; then what we take for a body is the next request to it, or the reverse.
_TWO_LENGTHS = "A request has either Content-Length or Transfer-Encoding: send it with one of them."


class BodyLimit:
    """Refuse a body that is too long: by its declared length before a byte is read, else when it gets too long."""

    def __init__(self, app: ASGIApp, max_upload_bytes: int, max_batch_bytes: int):
        self.app = app
        self._max_multipart_bytes = max_upload_bytes + _MULTIPART_SLACK_BYTES
        self._max_batch_bytes = max_batch_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            await problem(400, "bad_request", _TWO_LENGTHS, headers={"Connection": "close"})(scope, receive, send)
            return
        limit = self._limit(scope["path"], headers)
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared[:20]) > limit:
            await problem(413, "body_too_large", _too_large(limit))(scope, receive, send)
            return
        is_read = scope["method"] not in _WITHOUT_BODY
        await self.app(scope, _counting(receive, limit) if is_read else receive, send)

    def _limit(self, path: str, headers: Headers) -> int:
        kind = headers.get("content-type", "").lower()
        if path == _MODELS and not kind.startswith("application/json"):  # the file itself, or a form with it
            return _MAX_MODEL_BYTES
        if not kind.startswith("multipart/form-data"):
            return _MAX_OF_LONG.get(path, _MAX_OTHER_BYTES)
        if _REPORT.fullmatch(path):
            return MAX_REPORT_BYTES + _MULTIPART_SLACK_BYTES
        return self._max_batch_bytes if path in _BATCHES else self._max_multipart_bytes


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
