"""Uploads sent to a service by a client that takes next to nothing of the cores that it shares with it.

Requests are bytes that were made before, and of an answer nothing is read but its status and its length.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from urllib.parse import urlsplit

import numpy as np

__all__ = ["Sent", "back_to_back", "by_the_clock", "upload"]

_BOUNDARY = b"----------benchmark"
_OK = b"HTTP/1.1 200 "
_LENGTH = b"content-length:"
_KEPT_ALIVE_S = 3.0  # uvicorn closes connections that have been silent for five


@dataclass
class Sent:
    """What became of some requests, all of which were answered 200."""

    seconds: list[float] = field(default_factory=list)  # each, from when it was to be sent to the end of its answer
    wall_s: float = 0.0
    client_s: float = 0.0  # of processor time that the client took

    @property
    def per_second(self) -> float:
        return len(self.seconds) / self.wall_s

    def percentile_ms(self, percent: float) -> float:
        return 1e3 * float(np.percentile(self.seconds, percent))


def upload(url: str, picture: bytes) -> bytes:
    """A request with a picture as a form's file."""
    parts = urlsplit(url)
    before = (
        b'--%b\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\nContent-Type: image/jpeg\r\n\r\n'
    )
    body = before % _BOUNDARY + picture + b"\r\n--%b--\r\n" % _BOUNDARY
    head = (
        f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {len(body)}\r\n"
        f"Content-Type: multipart/form-data; boundary={_BOUNDARY.decode()}\r\n\r\n"
    )
    return head.encode() + body


def back_to_back(url: str, requests: Sequence[bytes], connections: int, seconds: float) -> Sent:
    """Each connection sends its next request when the one before is answered: as many a second as can be."""

    async def one(sent: Sent, turn: Iterator[bytes], end: float) -> None:
        connection = await _Connection.opened(url)
        while time.perf_counter() < end:
            begin = time.perf_counter()
            await connection.answered(next(turn))
            sent.seconds.append(time.perf_counter() - begin)
        connection.close()

    async def all_of_them(sent: Sent) -> None:
        turn, end = cycle(requests), time.perf_counter() + seconds
        await asyncio.gather(*(one(sent, turn, end) for _ in range(connections)))

    return _measured(all_of_them)


def by_the_clock(url: str, requests: Sequence[bytes], pauses: Sequence[float]) -> Sent:
    """One request after each pause, whether those before are answered or not. A late start counts as waiting."""
    free: list[_Connection] = []

    async def one(sent: Sent, request: bytes, due: float) -> None:
        connection = _usable(free) or await _Connection.opened(url)
        await connection.answered(request)
        connection.last_used = time.perf_counter()
        sent.seconds.append(connection.last_used - due)
        free.append(connection)

    async def all_of_them(sent: Sent) -> None:
        turn, due = cycle(requests), time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for pause in pauses:
                due += pause
                await asyncio.sleep(due - time.perf_counter())
                tasks.create_task(one(sent, next(turn), due))
        for connection in free:
            connection.close()

    return _measured(all_of_them)


def _usable(free: "list[_Connection]") -> "_Connection | None":
    """The one that was used last, unless the service may have closed it by now."""
    if not free or time.perf_counter() - free[-1].last_used > _KEPT_ALIVE_S:
        return None
    return free.pop()


def _measured(send: Callable[[Sent], Awaitable[None]]) -> Sent:
    sent = Sent()
    wall, client = time.perf_counter(), time.process_time()

    async def run() -> None:
        await send(sent)

    asyncio.run(run())
    sent.wall_s, sent.client_s = time.perf_counter() - wall, time.process_time() - client
    return sent


@dataclass
class _Connection:
    """Kept alive, one request at a time."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    last_used: float = 0.0

    @classmethod
    async def opened(cls, url: str) -> "_Connection":
        parts = urlsplit(url)
        return cls(*await asyncio.open_connection(parts.hostname, parts.port))

    async def answered(self, request: bytes) -> None:
        """Raises: SystemExit for any answer but 200."""
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        body = await self.reader.readexactly(
            next(int(line[len(_LENGTH) :]) for line in lines if line.startswith(_LENGTH))
        )
        if not head.startswith(_OK):
            raise SystemExit(f"The service answered {lines[0].decode()}: {body[:500].decode()}")

    def close(self) -> None:
        self.writer.close()
