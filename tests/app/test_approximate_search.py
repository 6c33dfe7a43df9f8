"""The service with SAMEKIND_APPROXIMATE_FROM: when searches are approximated, and what stays exact then."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from embedding.model_file import Model
from tests.app.conftest import Draw, running
from tests.app.jobs import wait_for
from tests.app.models import take_over, upload
from tests.app.searching import add_all, by_image, distances, embeddings, found

COUNT = 60


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, model: Model, save: Callable[[Model], Path], draw: Draw
) -> Iterator[TestClient]:
    """Started anew with enough pictures, every third of them a cup; arranged."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), model=save(model), approximate_from=COUNT)
    with running(settings) as client:
        for number in range(COUNT):
            form = {"category": "cups"} if number % 3 == 0 else {}
            add_all(client, {f"{number}": draw(number)}, **form)
        assert approximation(client) is None
    with running(settings) as client:
        wait_for(lambda: approximation(client) is not None)
        yield client


def approximation(client: TestClient) -> Any:
    return client.get("/v1/stats").json()["approximation"]


def nearest(client: TestClient, model: Model, count: int) -> list[tuple[str, float]]:
    """Of the picture 0, by brute force."""
    points = embeddings(client, model)
    return distances({name: point for name, point in points.items() if name != "0"}, points["0"])[:count]


def test_stats_say_how_searches_are_approximated(service: TestClient) -> None:
    kept = approximation(service)
    assert 1 <= kept["probed"] <= kept["lists"]
    assert kept["recall"] >= 0.995


def test_distances_are_right_and_a_filter_is_exact(service: TestClient, model: Model) -> None:
    right = dict(nearest(service, model, COUNT))
    hits = found(service, by_image("0", k=5))
    assert len(hits) == 5
    assert dict(hits) == {name: right[name] for name, _ in hits}

    cups = [(name, distance) for name, distance in nearest(service, model, COUNT) if int(name) % 3 == 0]
    filtered = found(service, by_image("0", k=len(cups), category="cups"))
    assert filtered == cups


def test_what_is_added_later_is_found(service: TestClient, draw: Draw) -> None:
    add_all(service, {f"{COUNT}": draw(COUNT)}, category="cups")
    answer = service.post("/v1/search", files={"file": draw(COUNT)}, data={"k": "1"}).json()
    assert [hit["id"] for hit in answer["neighbours"]] == [f"{COUNT}"]


def test_the_next_model_is_approximated_from_its_first_answer(service: TestClient, other_model: Model) -> None:
    upload(service, other_model)
    take_over(service, other_model)
    assert approximation(service)
    right = dict(nearest(service, other_model, COUNT))
    assert all(distance == right[name] for name, distance in found(service, by_image("0")))
