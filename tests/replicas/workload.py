"""Clients that change one collection through all of its replicas at once, and remember what was acknowledged.

Each client has pictures and ids of its own, so that it knows what must be there; besides them there are pictures that
all add at the same time. Each request goes through a replica drawn at random.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier, Event, Lock
from typing import Any

import httpx

from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.app.jobs import finished
from tests.replicas.fleet import Replica

__all__ = ["Known", "Workload"]

_OWN = 1000  # seeds of a client's pictures; below lie those that all add
_RUNS = 100_000  # from the seeds of one workload to those of the next
_EXACTLY = 1e-9  # a picture and its own features: a batch may round otherwise


@dataclass
class Known:
    """What was acknowledged."""

    images: dict[str, str | None] = field(default_factory=dict)  # category by id
    deleted: set[str] = field(default_factory=set)
    verdicts: set[tuple[str, str]] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock)


class Workload:
    """Runs until `enough` says so; then `known` is what every replica must tell."""

    def __init__(
        self,
        replicas: Sequence[Replica],
        draw: Draw,
        models: Sequence[Model],
        *,
        known: Known | None = None,
        may_fail: bool = False,
    ):
        """known: by another one before. may_fail: whether 503 is an answer, as while a server is away; then what it was
        about is left open."""
        self._replicas, self._draw, self._models, self._may_fail = replicas, draw, models, may_fail
        self.known = known or Known()
        self._run = 0 if known is None else _RUNS
        self._open: set[str] = set()  # ids of images that a refused request was about
        self._stop = Event()

    def run(self, clients: int, enough: Callable[[Known], bool]) -> None:
        """Raises: what went wrong in any of the clients."""
        barrier = Barrier(clients)
        with ThreadPoolExecutor(clients + 1) as pool:
            jobs = [pool.submit(self._stopping, self._change, number, barrier, enough) for number in range(clients)]
            jobs.append(pool.submit(self._stopping, self._activate))
        for job in jobs:
            job.result()

    def stop(self) -> None:
        self._stop.set()

    def is_over(self) -> bool:
        return self._stop.is_set()

    def settled(self, client: httpx.Client) -> Known:
        """What is known when all is over: what was about a request that was refused is as the service tells it."""
        for name in self._open:
            answer = client.get(f"/v1/images/{name}")
            assert answer.status_code in (200, 404)
            self.known.images.pop(name, None)
            if answer.status_code == 200:
                self.known.images[name] = answer.json()["category"]
        return self.known

    def _stopping(self, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException:
            self._stop.set()
            raise

    def _change(self, number: int, barrier: Barrier, enough: Callable[[Known], bool]) -> None:
        rng = random.Random(number)  # noqa: S311
        mine: list[int] = []
        first = self._run + _OWN * (number + 1)
        fresh = iter(range(first, first + _OWN))
        for seed in range(3):  # the same bytes through several replicas at once
            barrier.wait(60)
            self._add_shared(rng, self._run + seed, number)
        while not self._stop.is_set():
            match rng.choice(["add", "add", "add", "delete", "change", "judge", "look"]):
                case "add":
                    self._add(rng, next(fresh), mine)
                case "delete" if mine:
                    self._delete(rng, mine)
                case "change" if mine:
                    self._recategorise(rng, rng.choice(mine))
                case "judge" if len(mine) > 1:
                    self._judge(rng, rng.sample(mine, 2))
                case "look" if mine:
                    self._look(rng, rng.choice(mine))
            if enough(self.known):
                self._stop.set()

    def _add_shared(self, rng: random.Random, seed: int, number: int) -> None:
        name = f"shared-{seed}-{number}"
        answer = self._post(rng, "/v1/images", files={"file": self._draw(seed)}, data={"id": name})
        if answer.status_code == 503:
            self._open.add(name)
        if answer.status_code == 201:
            with self.known.lock:
                self.known.images[answer.json()["id"]] = None
                self.known.counts[f"shared-{seed}"] += 1

    def _add(self, rng: random.Random, seed: int, mine: list[int]) -> None:
        data = {"id": f"i{seed}", "category": "new"}
        answer = self._post(rng, "/v1/images", files={"file": self._draw(seed)}, data=data)
        if not self._went(answer, 201):
            self._open.add(f"i{seed}")
            return
        with self.known.lock:
            self.known.images[f"i{seed}"] = "new"
            self.known.counts["added"] += 1
        mine.append(seed)
        self._find(rng, seed, "new")

    def _find(self, rng: random.Random, seed: int, category: str) -> None:
        """Whoever was told that it is there finds it at once, through any replica, with and without a filter."""
        for form in ({"k": "1"}, {"k": "1", "category": category}):
            answer = self._post(rng, "/v1/search", files={"file": self._draw(seed)}, data=form)
            if not self._went(answer, 200):
                continue
            found = answer.json()
            assert [each["id"] for each in found["neighbours"]] == [f"i{seed}"], (found, form)
            assert found["neighbours"][0]["squared_distance"] < _EXACTLY
            assert found["model"] in {model.version for model in self._models}
            self.known.counts["found"] += 1

    def _delete(self, rng: random.Random, mine: list[int]) -> None:
        seed = mine.pop(rng.randrange(len(mine)))
        answer = self._ask(rng, "DELETE", f"/v1/images/i{seed}")
        with self.known.lock:
            self.known.images.pop(f"i{seed}")
            if not self._went(answer, 204):
                self._open.add(f"i{seed}")  # and nobody's any more
                return
            self.known.deleted.add(f"i{seed}")
            self.known.counts["deleted"] += 1
        answer = self._post(rng, "/v1/search", files={"file": self._draw(seed)}, data={"k": "1000"})
        if self._went(answer, 200):
            assert f"i{seed}" not in {each["id"] for each in answer.json()["neighbours"]}

    def _recategorise(self, rng: random.Random, seed: int) -> None:
        category = f"c{rng.randrange(5)}"
        answer = self._ask(rng, "PATCH", f"/v1/images/i{seed}", json={"category": category})
        if self._went(answer, 200):
            with self.known.lock:
                self.known.images[f"i{seed}"] = category
                self.known.counts["changed"] += 1
            self._find(rng, seed, category)
        else:
            self._open.add(f"i{seed}")

    def _judge(self, rng: random.Random, seeds: Sequence[int]) -> None:
        left, right = sorted(f"i{seed}" for seed in seeds)
        pair = {"left": left, "right": right, "similar": rng.random() < 0.5}
        answer = self._post(rng, "/v1/feedback", json={"pairs": [pair]})
        if answer.status_code != 409 and self._went(answer, 200):  # said before, or contradicted
            self.known.counts["judged"] += 1

    def _look(self, rng: random.Random, seed: int) -> None:
        answer = self._ask(rng, "GET", f"/v1/images/i{seed}/file")
        if self._went(answer, 200):
            assert answer.content == self._draw(seed)

    def _activate(self) -> None:
        rng = random.Random(-1)  # noqa: S311
        while not self._stop.is_set():
            for model in self._models:
                answer = self._post(rng, f"/v1/models/{model.version}/activate")
                if self._went(answer, 202) and not self._may_fail:
                    job = finished(rng.choice(self._replicas).client, answer.json())
                    assert job["state"] == "done", job
                    self.known.counts["activated"] += 1
                elif self._stop.wait(1):
                    return

    def _post(self, rng: random.Random, path: str, **body: Any) -> httpx.Response:
        return self._ask(rng, "POST", path, **body)

    def _ask(self, rng: random.Random, method: str, path: str, **body: Any) -> httpx.Response:
        return rng.choice(self._replicas).client.request(method, path, **body)

    def _went(self, answer: httpx.Response, expected: int) -> bool:
        """False: it was refused, as it may be."""
        if self._may_fail and answer.status_code == 503:
            assert "Retry-After" in answer.headers, answer.text
            self.known.counts["refused"] += 1
            return False
        assert answer.status_code == expected, (answer.status_code, answer.text)
        return True
