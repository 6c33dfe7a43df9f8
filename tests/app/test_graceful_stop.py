"""A stop that loses nothing: what was being sent when it was asked for is taken, kept and answered."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx

from tests.app.conftest import Draw
from tests.app.test_metrics import samples
from tests.app.test_serve import START_TIMEOUT_S, serving

UPLOADS = 8


class SlowUpload:
    """A picture of which the second half comes later."""

    def __init__(self, client: httpx.Client, image_id: str, picture: bytes):
        host, port = client.base_url.host, client.base_url.port
        request = client.build_request("POST", "/v1/images", files={"file": picture}, data={"id": image_id})
        body = request.read()
        lines = [f"{name}: {value}" for name, value in request.headers.items()]
        whole = "\r\n".join(["POST /v1/images HTTP/1.1", *lines, "", ""]).encode() + body
        middle = len(whole) - len(body) // 2
        self._rest = whole[middle:]
        self.connection = socket.create_connection((host, port), timeout=START_TIMEOUT_S)
        self.connection.sendall(whole[:middle])

    def finish(self) -> None:
        self.connection.sendall(self._rest)

    def answer(self) -> bytes:
        return b"".join(iter(lambda: self.connection.recv(65_536), b""))


def test_uploads_in_flight_are_finished_and_stored(tmp_path: Path, draw: Draw) -> None:
    data = tmp_path / "data"
    with serving(data) as (process, client), slow_uploads(client, draw) as uploads:
        _wait_until(lambda: in_flight(client) == UPLOADS + 1)  # with the one that asks
        process.terminate()
        _wait_until(lambda: not accepts(client))
        for upload in uploads:
            upload.finish()
        assert {upload.answer()[:13] for upload in uploads} == {b"HTTP/1.1 201 "}
        assert process.wait(START_TIMEOUT_S) == 0
    log = data.with_suffix(".log").read_text()
    assert "Traceback" not in log, log
    with serving(data) as (_, client):
        for seed in range(UPLOADS):
            assert client.get(f"/v1/images/i{seed}/file").content == draw(seed)


def test_an_upload_that_never_ends_is_told_so(tmp_path: Path, draw: Draw) -> None:
    """And does not keep the service from stopping."""
    data = tmp_path / "data"
    with serving(data) as (process, client):
        upload = SlowUpload(client, "never", draw(1))
        with closing(upload.connection):
            _wait_until(lambda: in_flight(client) == 2)
            process.terminate()
            answer = upload.answer()
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"look in a moment whether this was done" in answer
        assert process.wait(START_TIMEOUT_S) == 0
    log = data.with_suffix(".log").read_text()
    assert "Traceback" not in log, log


@contextmanager
def slow_uploads(client: httpx.Client, draw: Draw) -> Iterator[list[SlowUpload]]:
    with ExitStack() as opened:
        uploads = [SlowUpload(client, f"i{seed}", draw(seed)) for seed in range(UPLOADS)]
        for upload in uploads:
            opened.enter_context(closing(upload.connection))
        yield uploads


def in_flight(client: httpx.Client) -> float:
    return samples(client.get("/metrics").text)["samekind_requests_in_flight"][frozenset()]


def accepts(client: httpx.Client) -> bool:
    try:
        socket.create_connection((client.base_url.host, client.base_url.port), timeout=1).close()
    except OSError:
        return False
    return True


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
