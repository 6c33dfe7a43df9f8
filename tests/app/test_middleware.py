"""Bodies: how long they may be on each path, and one that nobody reads, beside an answer that is streamed."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.api.middleware import BodyLimit
from tests.app.conftest import Draw

CHUNKS = 20  # of a mebibyte, four times what the longest JSON may have


async def ask(app: Any, path: str, pause: Callable[[], Any]) -> list[Any]:
    """GET with a long chunked body, as uvicorn would hand it on; what the application sends."""
    host = [(b"host", b"localhost"), (b"transfer-encoding", b"chunked")]
    scope = {"type": "http", "asgi": {"spec_version": "2.3"}, "http_version": "1.1", "method": "GET", "scheme": "http",
             "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": host,
             "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000)}  # fmt: skip
    sent: list[Any] = []
    received = 0

    async def receive() -> Any:
        nonlocal received
        received += 1
        if received > CHUNKS:
            await asyncio.Event().wait()  # it stays until it is answered
        await pause()
        return {"type": "http.request", "body": bytes(2**20), "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)
        await asyncio.sleep(0.05)  # a slow client: the body outruns the answer

    await asyncio.wait_for(app(scope, receive, send), 30)
    return sent


async def at_once() -> None:
    """The whole body is there already."""


async def soon() -> None:
    await asyncio.sleep(0.001)


def add(client: TestClient, draw: Draw) -> bytes:
    data = draw(1, size=(300, 200))
    assert client.post("/v1/images", files={"file": data}, data={"id": "x"}).status_code in (200, 201)
    return data


def test_an_answer_that_has_begun_is_ended(client: TestClient, draw: Draw) -> None:
    data = add(client, draw)
    start, *chunks = asyncio.run(ask(client.app, "/v1/images/x/file", soon))
    assert start["status"] == 200
    assert b"".join(chunk["body"] for chunk in chunks) == data
    assert chunks[-1]["more_body"] is False


@pytest.mark.parametrize("path", ["/v1/images/x/file", "/v1/feedback", "/v1/images"])
@pytest.mark.parametrize("pause", [at_once, soon])
def test_there_is_one_whole_answer(client: TestClient, draw: Draw, path: str, pause: Callable[[], Any]) -> None:
    add(client, draw)
    start, *chunks = asyncio.run(ask(client.app, path, pause))
    assert start["type"] == "http.response.start"
    assert start["status"] == 200
    assert [chunk["type"] for chunk in chunks] == ["http.response.body"] * len(chunks)
    assert not chunks[-1].get("more_body")


MIB = 2**20
FORM, JSON, FILE = "multipart/form-data; boundary=x", "application/json", "application/octet-stream"


async def status_of(path: str, kind: str, declared: int) -> int:
    """What the limit says to a body of that length; 200: it comes through."""

    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("The body was read.")

    headers = [(b"content-type", kind.encode()), (b"content-length", str(declared).encode())]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
    await BodyLimit(application, max_upload_bytes=20 * MIB, max_batch_bytes=256 * MIB)(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("path", "kind", "limit"),
    [
        ("/v1/images", FORM, 21 * MIB),
        ("/v1/search", FORM, 21 * MIB),
        ("/v1/search", JSON, MIB // 2),
        ("/v1/images/batch", FORM, 256 * MIB),
        ("/v1/search/batch", FORM, 256 * MIB),
        ("/v1/search/batch", JSON, 3 * MIB),
        ("/v1/images/batch/", FORM, 21 * MIB),
        ("/v1/models", FORM, 512 * MIB),
        ("/v1/models", FILE, 512 * MIB),
        ("/v1/models", JSON, MIB // 2),
        ("/v1/models/x/activate", FILE, MIB // 2),
        ("/v1/feedback", FORM, 21 * MIB),
        ("/v1/feedback", JSON, 5 * MIB),
    ],
)
def test_each_path_has_its_limit(path: str, kind: str, limit: int) -> None:
    assert asyncio.run(status_of(path, kind, limit)) == 200
    assert asyncio.run(status_of(path, kind, limit + 1)) == 413
