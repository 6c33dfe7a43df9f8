"""Both Python clients under the same tests, and a server that gives the answers that a test wants."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from inspect import isawaitable
from threading import Thread
from typing import Any, cast

from app.client import AsyncSamekind, Samekind

__all__ = ["CLIENTS", "Answer", "Canned", "Connect", "canned", "problem"]

Connect = Callable[..., Any]  # makes a client, as a context manager


class _Blocking:
    """An AsyncSamekind that looks like a Samekind."""

    def __init__(self, client: AsyncSamekind, runner: asyncio.Runner):
        self._client = client
        self._runner = runner

    def __repr__(self) -> str:
        return repr(self._client)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def method(*args: Any, **kwargs: Any) -> Any:
            found = getattr(self._client, name)(*args, **kwargs)
            if isinstance(found, AsyncIterator):
                return self._each(found)
            return self._runner.run(_awaited(found)) if isawaitable(found) else found

        return method

    def _each(self, found: AsyncIterator[Any]) -> Iterator[Any]:
        end = object()
        while (item := self._runner.run(_awaited(anext(found, end)))) is not end:
            yield item


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


@contextmanager
def _asynchronous(*args: Any, **kwargs: Any) -> Iterator[Samekind]:
    with asyncio.Runner() as runner:
        client = AsyncSamekind(*args, **kwargs)
        runner.run(client.__aenter__())
        try:
            yield cast(Samekind, _Blocking(client, runner))
        finally:
            runner.run(client.__aexit__())


CLIENTS: dict[str, Connect] = {"sync": Samekind, "async": _asynchronous}


@dataclass
class Answer:
    """What the server says. None for a status: it hangs up without a word."""

    status: int | None = 200
    body: bytes | Iterator[bytes] = b"{}"
    headers: dict[str, str] = field(default_factory=dict)


class Canned(ThreadingHTTPServer):
    """Gives its answers one after the other, the last one for ever, and keeps what it was asked."""

    def __init__(self, answers: list[Answer]):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.asked: list[tuple[str, str, Message]] = []  # method, path, headers

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65_537)
        self.close_connection = True
        if self.raw_requestline and self.parse_request():
            self._answer(cast(Canned, self.server))

    def _answer(self, server: Canned) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server.asked.append((self.command, self.path, self.headers))
        answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
        if answer.status is None:
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):  # the client has had enough
            self.wfile.writelines([answer.body] if isinstance(answer.body, bytes) else answer.body)

    def log_message(self, *_: Any) -> None:
        """Tests print nothing."""


@contextmanager
def canned(*answers: Answer) -> Iterator[Canned]:
    with Canned(list(answers)) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def problem(status: int, code: str, retry_after: str | None = None) -> Answer:
    body = {"type": f"urn:samekind:problem:{code}", "title": "", "status": status, "detail": "It is so.", "code": code}
    headers = {"X-Request-Id": "r-1"} | ({} if retry_after is None else {"Retry-After": retry_after})
    return Answer(status, json.dumps(body).encode(), headers)
