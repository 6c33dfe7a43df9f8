"""Many clients at once: nothing twice, nothing lost, no 500, index and database agree."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from typing import Any

from starlette.testclient import TestClient

from app.records import Picture
from embedding.errors import UnsupportedImage
from tests.app.conftest import Draw, Start

THREADS = 8
FRAMEWORK_THREADS = 40


def test_same_and_different_pictures_from_many_threads(start: Start, draw: Draw) -> None:
    seeds = [seed for seed in range(6) for _ in range(THREADS)]  # each picture by each thread
    with start() as client:
        responses = in_threads(lambda seed: client.post("/v1/images", files={"file": draw(seed)}), seeds)
        assert Counter(response.status_code for response in responses) == {201: 6, 200: len(seeds) - 6}
        assert len({response.json()["id"] for response in responses}) == 6
        assert len(client.get("/v1/images").json()["images"]) == 6
        assert client.get("/v1/stats").json()["indexed"] == 6


def test_one_id_for_many_pictures(start: Start, draw: Draw) -> None:
    with start() as client:
        responses = in_threads(lambda seed: add(client, draw, seed, "wanted"), range(THREADS))
        assert Counter(response.status_code for response in responses) == {201: 1, 409: THREADS - 1}
        winner = next(response.json() for response in responses if response.status_code == 201)
        stored = client.get("/v1/images/wanted/file").content
        assert stored == draw([response.status_code for response in responses].index(201))
        assert len(stored) == winner["byte_size"]


def test_adding_deleting_and_searching_the_same_picture(start: Start, draw: Draw) -> None:
    with start() as client:
        add(client, draw, 0, "anchor")

        def turn(number: int) -> list[Any]:
            return [
                add(client, draw, 1, "coming-and-going"),
                client.post("/v1/search?k=5&image_id=anchor"),
                client.get("/v1/images/coming-and-going/file"),
                client.delete("/v1/images/coming-and-going"),
            ]

        statuses = Counter(r.status_code for responses in in_threads(turn, range(40)) for r in responses)
        assert set(statuses) <= {200, 201, 204, 404}
        assert statuses[201] > 1
        stats = client.get("/v1/stats").json()
        assert stats["indexed"] == stats["images"]
        last = add(client, draw, 1, "coming-and-going")
        assert last.status_code in (200, 201)
        assert client.get("/v1/images/coming-and-going/file").content == draw(1)
        found = client.post("/v1/search?k=5", files={"file": draw(1)}).json()["neighbours"]
        assert [n["id"] for n in found] == ["coming-and-going", "anchor"]


def test_one_verdict_from_many_threads_is_one_row(start: Start, draw: Draw) -> None:
    pairs = {"pairs": [{"left": "i0", "right": "i1", "similar": True}]}
    with start() as client:
        for seed in range(2):
            add(client, draw, seed, f"i{seed}")
        responses = in_threads(lambda _: client.post("/v1/feedback", json=pairs), range(THREADS))
        assert sum(response.json()["recorded"] for response in responses) == 1


def test_it_stays_ready_while_uploads_take_every_thread(start: Start) -> None:
    """More uploads than the web framework has threads, none of which gets on."""
    blocking = Blocking()
    with start() as client, ThreadPoolExecutor(60) as threads:
        client.app.state.collection.extractor = blocking  # type: ignore[attr-defined]
        uploads = [
            threads.submit(client.post, "/v1/images", files={"file": f"no picture {n}".encode()}) for n in range(50)
        ]
        try:
            assert blocking.full.wait(30)
            for path in ("/healthz", "/readyz"):
                assert threads.submit(client.get, path).result(timeout=10).status_code == 200
        finally:
            blocking.go_on.set()
        assert {upload.result().status_code for upload in uploads} == {415}


class Blocking:
    """An extractor in which everybody waits."""

    def __init__(self) -> None:
        self.full = Event()  # every thread that there is waits
        self.go_on = Event()
        self._waiting = count(1)

    def decode(self, _data: bytes, **_options: bool) -> Picture:
        if next(self._waiting) == FRAMEWORK_THREADS:
            self.full.set()
        self.go_on.wait(60)
        raise UnsupportedImage("no picture")


def add(client: TestClient, draw: Draw, seed: int, name: str) -> Any:
    return client.post("/v1/images", files={"file": draw(seed)}, data={"id": name})


def in_threads(job: Callable[[int], Any], numbers: Any) -> list[Any]:
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(job, numbers))
