"""A web site on loopback for the tests of fetching, under a made-up name."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from app.fetching import AllowListFetcher

__all__ = ["HOST", "MAX_BYTES", "OTHER_HOST", "PICTURE", "WAIT_S", "Site", "fetched", "fetcher", "plain"]

HOST = "pictures.example"  # which no name server knows: who connects has not asked one
OTHER_HOST = "other.example"
PICTURE = b"\xff\xd8 these bytes are handed on as they are"
MAX_BYTES = 10_000
WAIT_S = 20  # for what happens at once; a bound, not a measure


class Site:
    """A server on 127.0.0.1 that answers each request with the same bytes, and then goes on as it is told."""

    def __init__(self, answer: bytes, then: Callable[[asyncio.StreamWriter], Awaitable[None]] | None = None):
        self.answer, self.then = answer, then
        self.requests: list[str] = []
        self.resolved: list[str] = []
        self.left = asyncio.Event()  # the client has gone

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode("ascii"))
        try:
            writer.write(self.answer)
            await writer.drain()
            if self.then:
                await self.then(writer)
        except ConnectionError:
            self.left.set()
        finally:
            writer.close()

    @asynccontextmanager
    async def serving(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
        server = await asyncio.start_server(self.handle, "127.0.0.1", 0, ssl=tls)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            await server.wait_closed()

    async def resolve(self, host: str, _port: int) -> list[str]:
        """Loopback once; a name server that is asked again says something else."""
        self.resolved.append(host)
        return ["127.0.0.1"] if len(self.resolved) == 1 else ["169.254.169.254"]


def plain(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def fetcher(site: Site, port: int, *, total_s: float = WAIT_S, tls: ssl.SSLContext | None = None) -> AllowListFetcher:
    return AllowListFetcher(
        {HOST, OTHER_HOST},
        MAX_BYTES,
        resolve=site.resolve,
        may_connect=lambda address: address == "127.0.0.1",
        ports={port},
        total_s=total_s,
        tls=tls,
    )


async def fetched(site: Site, path: str = "/a.jpg", *, total_s: float = WAIT_S) -> bytes:
    async with site.serving() as port:
        return await fetcher(site, port, total_s=total_s).fetch(f"http://{HOST}:{port}{path}")
