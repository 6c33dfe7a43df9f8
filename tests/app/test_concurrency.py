"""Many clients at once: nothing twice, nothing lost, no 500, index and database agree."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.testclient import TestClient

from app.extraction import RequestExtraction
from tests.app.conftest import Draw, Start
from tests.app.watching import Watching

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
                client.post("/v1/search", json={"by": "image", "image_id": "anchor", "k": 5}),
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
        found = client.post("/v1/search", files={"file": draw(1)}, data={"k": "5"}).json()["neighbours"]
        assert [n["id"] for n in found] == ["coming-and-going", "anchor"]


def test_one_verdict_from_many_threads_is_one_row(start: Start, draw: Draw) -> None:
    pairs = {"pairs": [{"left": "i0", "right": "i1", "similar": True}]}
    with start() as client:
        for seed in range(2):
            add(client, draw, seed, f"i{seed}")
        responses = in_threads(lambda _: client.post("/v1/feedback", json=pairs), range(THREADS))
        assert sum(response.json()["recorded"] for response in responses) == 1


def test_it_stays_ready_while_more_uploads_wait_than_it_has_threads(start: Start, draw: Draw) -> None:
    watching = Watching(held="decode")
    with start() as client, ThreadPoolExecutor(60) as threads:
        app: Any = client.app
        app.state.collection.extraction = RequestExtraction(app.state.collection.extractor, watching)
        uploads = [threads.submit(add, client, draw, seed, f"i{seed}") for seed in range(FRAMEWORK_THREADS + 10)]
        try:
            wait_for(lambda: app.state.places.taken == len(uploads))
            for path in ("/healthz", "/readyz", "/v1/stats", "/v1/images"):
                assert threads.submit(client.get, path).result(timeout=30).status_code == 200
        finally:
            watching.go_on.set()
        assert {upload.result().status_code for upload in uploads} == {201}


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def add(client: TestClient, draw: Draw, seed: int, name: str) -> Any:
    return client.post("/v1/images", files={"file": draw(seed)}, data={"id": name})


def in_threads(job: Callable[[int], Any], numbers: Any) -> list[Any]:
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(job, numbers))
