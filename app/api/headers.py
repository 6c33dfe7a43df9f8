"""Headers that tell browsers and caches what not to do with an answer. A route's own ones win."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HEADERS", "SafeHeaders"]

HEADERS = {
    "X-Content-Type-Options": "nosniff",  # what we serve is what we say it is
    "Referrer-Policy": "no-referrer",  # paths hold ids
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",  # the next answer may be another one, and no cache checks keys
}


class SafeHeaders:
    """Put them on every answer. shared: whether pages of other origins may show pictures from here."""

    def __init__(self, app: ASGIApp, *, shared: bool):
        self.app = app
        self._headers = HEADERS | {"Cross-Origin-Resource-Policy": "cross-origin" if shared else "same-origin"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)
