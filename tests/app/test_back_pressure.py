"""More pictures than there is room for, and clients that leave or send nothing: a real server, real sockets."""

import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

import httpx
import pytest
import uvicorn

from app.extraction import RequestExtraction
from app.main import create_app
from app.ports import Stage
from app.services.collection import Collection
from app.services.keys import create_key
from app.settings import Settings
from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.app.watching import Watching

LONG_S = 60

Serve = Callable[..., "Served"]


@dataclass
class Served:
    """An application that a real server runs in this process."""

    app: Any
    port: int
    client: httpx.Client

    @property
    def places_taken(self) -> int:
        return int(self.app.state.places.taken)

    def hold(self, stage: Stage) -> Watching:
        """Have everything wait at that stage until the test lets it go on."""
        collection: Collection = self.app.state.collection
        watching = Watching(held=stage)
        collection.measures = watching
        collection.extraction = RequestExtraction(collection.extractor, watching)
        return watching

    def add(self, data: bytes, name: str) -> httpx.Response:
        return self.client.post("/v1/images", files={"file": data}, data={"id": name})

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=LONG_S)


@pytest.fixture
def serve(tmp_path: Path, model: Model, save: Callable[[Model], Path]) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(**settings: Any) -> Served:
            options = {"data_dir": tmp_path / "data", "model": save(model)} | settings
            return stack.enter_context(served(Settings(**options)))

        yield start


@contextmanager
def served(settings: Settings) -> Iterator[Served]:
    app = create_app(settings)
    config = uvicorn.Config(app, port=0, http="h11", ws="none", lifespan="on", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    thread = Thread(target=server.run)
    thread.start()
    try:
        wait_for(lambda: server.started or not thread.is_alive())
        port = server.servers[0].sockets[0].getsockname()[1]
        limits = httpx.Limits(max_connections=50)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=LONG_S, limits=limits) as client:
            yield Served(app, port, client)
    finally:
        server.should_exit = True
        thread.join()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def upload(data: bytes, name: str) -> bytes:
    """A whole request as it goes over the line."""
    request = httpx.Request("POST", "http://127.0.0.1/v1/images", files={"file": ("a.png", data)}, data={"id": name})
    headers = "".join(f"{key}: {value}\r\n" for key, value in request.headers.items())
    return f"POST /v1/images HTTP/1.1\r\n{headers}\r\n".encode() + request.read()


def answer(file: BinaryIO) -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON of the next answer."""
    status = int(file.readline().split()[1])
    headers = dict(line.decode().strip().lower().split(": ", 1) for line in iter(file.readline, b"\r\n"))
    return status, headers, json.loads(file.read(int(headers["content-length"])))


def test_who_finds_no_room_is_told_at_once_while_the_rest_is_served(serve: Serve, draw: Draw) -> None:
    service = serve(queue_size=2)
    watching = service.hold("extract")
    with ThreadPoolExecutor(10) as threads:
        uploads = [threads.submit(service.add, draw(seed), f"i{seed}") for seed in range(10)]
        try:
            refused = first_done(uploads, 8)
            assert {(r.status_code, r.json()["code"], r.headers["retry-after"]) for r in refused} == {
                (503, "busy", "5")
            }
            assert service.client.get("/v1/stats").json()["images"] == 0
            assert service.client.get("/readyz").status_code == 200
            with service.connected() as connection:  # refused before a byte of the body is there
                connection.sendall(upload(draw(1), "late").partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
                assert answer(connection.makefile("rb"))[0] == 503
        finally:
            watching.go_on.set()
        assert Counter(upload.result().status_code for upload in uploads) == {201: 2, 503: 8}
    assert service.places_taken == 0
    assert service.add(draw(99), "after").status_code == 201


def first_done(uploads: list[Future[httpx.Response]], number: int) -> list[httpx.Response]:
    pending = set(uploads)
    while len(uploads) - len(pending) < number:
        done, pending = wait(pending, LONG_S, FIRST_COMPLETED)
        assert done
    return [upload.result() for upload in uploads if upload not in pending]


def test_a_client_that_leaves_while_it_waits_makes_room(serve: Serve, draw: Draw) -> None:
    service = serve(queue_size=2)
    watching = service.hold("extract")
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(service.add, draw(1), "first")
        watching.wait_until_begun()
        with service.connected() as connection:
            connection.sendall(upload(draw(2), "left"))
            wait_for(lambda: watching.begun.count("decode") == 2 and service.places_taken == 2)
        wait_for(lambda: service.places_taken == 1)
        last = threads.submit(service.add, draw(3), "last")
        wait_for(lambda: service.places_taken == 2)
        watching.go_on.set()
        assert [first.result().status_code, last.result().status_code] == [201, 201]
    assert [image["id"] for image in service.client.get("/v1/images").json()["images"]] == ["first", "last"]


def test_an_image_that_is_being_stored_is_stored_whoever_leaves(serve: Serve, draw: Draw) -> None:
    service = serve()
    watching = service.hold("store")
    with service.connected() as connection:
        connection.sendall(upload(draw(1), "kept"))
        watching.wait_until_begun()
    watching.go_on.set()
    wait_for(lambda: service.places_taken == 0)
    assert service.client.get("/v1/images/kept/file").content == draw(1)
    assert service.client.get("/v1/stats").json()["indexed"] == 1


def test_a_client_that_leaves_before_it_has_sent_all_makes_room(serve: Serve, draw: Draw) -> None:
    service = serve()
    with service.connected() as connection:
        connection.sendall(upload(draw(1), "half")[:-100])
        wait_for(lambda: service.places_taken == 1)
    wait_for(lambda: service.places_taken == 0)
    assert service.client.get("/v1/images").json()["images"] == []


def test_one_key_may_have_half_of_the_places(serve: Serve, draw: Draw) -> None:
    service = serve(queue_size=3)
    keys = service.app.state.collection.repository.keys
    alice, bob = ({"authorization": f"Bearer {create_key(keys, name, 'writer').text}"} for name in ("alice", "bob"))
    with ExitStack() as opened:
        for taken in (1, 2):
            begun_upload(opened, service, alice)
            wait_for(lambda taken=taken: service.places_taken == taken)  # type: ignore[misc]
        refused = service.client.post("/v1/images", files={"file": draw(1)}, headers=alice)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert refused.headers["retry-after"] == "1"
        assert service.client.post("/v1/images", files={"file": draw(1)}, headers=bob).status_code == 201
        begun_upload(opened, service, bob)
        wait_for(lambda: service.places_taken == 3)
        assert service.client.post("/v1/images", files={"file": draw(2)}, headers=alice).status_code == 503
    wait_for(lambda: service.places_taken == 0)
    assert service.client.post("/v1/images", files={"file": draw(2)}, headers=alice).status_code == 201


def begun_upload(opened: ExitStack, service: Served, key: dict[str, str]) -> None:
    """One that does not go on as long as its connection stays open."""
    connection = opened.enter_context(service.connected())
    lines = ["POST /v1/images HTTP/1.1", "Host: 127.0.0.1", f"Authorization: {key['authorization']}"]
    lines += ["Content-Type: multipart/form-data; boundary=x", "Content-Length: 999", "", ""]
    connection.sendall("\r\n".join(lines).encode())


def test_requests_one_behind_the_other_on_one_connection(serve: Serve, draw: Draw) -> None:
    service = serve()
    with service.connected() as connection:
        connection.sendall(upload(draw(1), "a") + upload(draw(2), "b"))
        file = connection.makefile("rb")
        answers = [answer(file) for _ in range(2)]
        assert [(status, image["id"]) for status, _, image in answers] == [(201, "a"), (201, "b")]
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert answer(file)[0] == 200
    assert service.places_taken == 0
