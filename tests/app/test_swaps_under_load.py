"""The real server while models take over from each other: no request fails, no answer mixes two of them."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Event, Lock
from typing import Any

import httpx
import pytest

from embedding.model_file import Model
from tests.app.brute import Truth
from tests.app.conftest import Draw
from tests.app.jobs import finished, wait_for
from tests.app.test_serve import serving

IMAGES = 24
SWAPS = 12
Answered = tuple[str, dict[str, Any]]  # by which image, and what


class Load:
    """Clients that search until they are told to stop; each answer is kept."""

    def __init__(self, url: str, draw: Draw):
        self._url, self._draw, self._stop, self._counting = url, draw, Event(), Lock()
        self.answers: dict[str, list[Answered]] = {"id": [], "upload": []}
        self.counts: Counter[tuple[str, str]] = Counter()  # of kind and version

    @contextmanager
    def running(self) -> Iterator[None]:
        """Raises: what went wrong in any of them."""
        with ThreadPoolExecutor(4) as pool:
            clients = [pool.submit(each) for each in (self._ask, self._ask, self._upload, self._upload)]
            try:
                yield
            finally:
                self._stop.set()
        for client in clients:
            client.result()

    def _ask(self) -> None:
        with httpx.Client(base_url=self._url, timeout=60) as client:
            for seed in self._seeds():
                body = {"by": "image", "image_id": f"i{seed}", "k": IMAGES}
                self._keep("id", seed, client.post("/v1/search", json=body))

    def _upload(self) -> None:
        with httpx.Client(base_url=self._url, timeout=60) as client:
            for seed in self._seeds():
                answer = client.post("/v1/search", files={"file": self._draw(seed)}, data={"k": "7"})
                self._keep("upload", seed, answer)

    def _keep(self, kind: str, seed: int, answer: httpx.Response) -> None:
        assert answer.status_code == 200, answer.text
        found = answer.json()
        self.answers[kind].append((f"i{seed}", found))
        with self._counting:
            self.counts[kind, found["model"]] += 1

    def _seeds(self) -> Iterator[int]:
        for seed in count():
            if self._stop.is_set():
                return
            yield seed % IMAGES


def test_no_search_fails_and_each_finds_what_its_model_finds(
    tmp_path: Path, draw: Draw, model: Model, other_model: Model, save: Callable[[Model], Path]
) -> None:
    with serving(tmp_path / "data", "--model", str(save(model))) as (_process, client):
        for seed in range(IMAGES):
            added = client.post("/v1/images", files={"file": draw(seed)}, data={"id": f"i{seed}"})
            assert added.status_code == 201
        assert client.post("/v1/models", files={"file": other_model.to_bytes()}).status_code == 201
        truth = Truth.of(client, model, other_model)
        load = Load(str(client.base_url), draw)
        with load.running():
            for swap in range(SWAPS):
                take_over(client, load, (other_model, model)[swap % 2].version, back=swap % 3 == 2)
    assert len(truth.features) == IMAGES
    for kind, answers in load.answers.items():
        assert len(answers) >= SWAPS
        for query_id, answer in answers:
            truth.check(query_id, answer, leave_out=kind == "id")
    query_id, answer = load.answers["id"][0]
    (other,) = truth.models.keys() - {answer["model"]}
    with pytest.raises(AssertionError):  # the two models differ, so all this shows something
        truth.check(query_id, answer | {"model": other}, leave_out=True)


def take_over(client: httpx.Client, load: Load, version: str, *, back: bool) -> None:
    """By activation, or back to it as the former one; then until it has answered searches of both kinds."""
    kinds = [(kind, version) for kind in load.answers]
    before = load.counts.copy()
    asked = client.post("/v1/models/rollback" if back else f"/v1/models/{version}/activate")
    assert asked.status_code == 202, asked.text
    assert finished(client, asked.json())["detail"] == f"Model {version} is active."
    wait_for(lambda: all(load.counts[each] > before[each] for each in kinds))
