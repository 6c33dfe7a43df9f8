"""The real program gets another backbone while people add and search, is killed in the midst of it, and goes on."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import numpy as np
import pytest

from app.extractor import make_extractor
from embedding.backbone import Backbone
from embedding.image import ImageLimits
from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.app.jobs import finished, wait_for
from tests.app.other_backbone import NAME, load_other, other_model, write_weights
from tests.crash.program import Program

COUNT = 150  # images
FIRST = 100  # that are there before


@contextmanager
def served(folder: Path, number: int, **settings: str) -> Iterator[tuple[Program, httpx.Client]]:
    """`samekind serve`, killed when the block ends."""
    program = Program(folder / f"{number}.log", "serve", port="0", data_dir=str(folder / "data"), **settings)
    try:
        with httpx.Client(base_url=program.wait_for(r"running on (http://\S+)"), timeout=60) as client:
            yield program, client
    finally:
        program.kill()


def brute_force(backbone: Backbone, model: Model, files: list[bytes]) -> Any:
    """Squared distances (n, n) of all pictures under a model."""
    extractor = make_extractor(backbone, ImageLimits())
    points = model.metric.embed(extractor.features([extractor.decode(file) for file in files])).astype(np.float64)
    return np.square(points[:, None] - points[None]).sum(axis=2)


def check(answer: dict[str, Any], seed: int, distances: dict[str, Any]) -> None:
    """Its neighbours are as far as they are under the model that it names."""
    expected = distances[answer["model"]]
    for each in answer["neighbours"]:
        assert each["squared_distance"] == pytest.approx(expected[seed, int(each["id"][1:])], rel=0.02, abs=1e-9)


def keep_asking(client: httpx.Client, ask: Callable[[int], Any], stop: Event) -> int:
    number = 0
    while not stop.is_set():
        ask(number)
        number += 1
    return number


def test_another_backbone_under_load_and_sigkill(tmp_path: Path, draw: Draw) -> None:
    weights = write_weights(tmp_path / "weights", 0, 1)
    files = [draw(seed) for seed in range(COUNT)]
    models, distances = [], {}
    for seed in (0, 1):
        backbone = load_other(weights, seed)
        models.append(other_model(backbone))
        distances[models[-1].version] = brute_force(backbone, models[-1], files)
    (tmp_path / "model").write_bytes(models[0].to_bytes())
    settings = {"backbone": NAME, "backbone_weights": str(weights)}
    pictures = [("files", (f"i{seed}.png", file)) for seed, file in enumerate(files[:FIRST])]
    items = json.dumps([{"id": f"i{seed}"} for seed in range(FIRST)])
    with served(tmp_path, 1, model=str(tmp_path / "model"), **settings) as (program, client):
        adding = client.post("/v1/images/batch", files=pictures, data={"items": items})
        assert finished(client, adding.json())["state"] == "done"
        client.post("/v1/models", files={"file": models[1].to_bytes()})
        job = client.post(f"/v1/models/{models[1].version}/activate").json()
        wait_for(lambda: client.get(f"/v1/jobs/{job['id']}").json()["done"] > 0)
        assert program.kill()
    with served(tmp_path, 2, **settings) as (_, client):
        assert finished(client, job)["state"] == "done"
        stop, seen = Event(), set()

        def search(number: int) -> None:
            seed = number % FIRST
            by_upload = client.post("/v1/search", files={"file": files[seed]}, data={"k": "5"})
            by_image = client.post("/v1/search", json={"by": "image", "image_id": f"i{seed}", "k": 5, "explain": True})
            for response in (by_upload, by_image):
                assert response.status_code == 200, response.text
                check(response.json(), seed, distances)
                seen.add(response.json()["model"])

        def add(number: int) -> None:
            if number < COUNT - FIRST:
                seed = FIRST + number
                response = client.post("/v1/images", files={"file": files[seed]}, data={"id": f"i{seed}"})
                assert response.status_code == 201, response.text
            else:
                search(number)

        with ThreadPoolExecutor(3) as threads:
            asking: list[Future[int]] = [
                threads.submit(keep_asking, client, ask, stop) for ask in (search, search, add)
            ]
            try:
                wait_for(lambda: models[1].version in seen or any(each.done() for each in asking))
                back = client.post(f"/v1/models/{models[0].version}/activate").json()
                assert (back["kind"], finished(client, back)["state"]) == ("reextract", "done")
                wait_for(lambda: models[0].version in seen or any(each.done() for each in asking))
            finally:
                stop.set()
            assert all(each.result() > 0 for each in asking)
        assert seen == {each.version for each in models}
