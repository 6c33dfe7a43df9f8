"""Filters, offset and the greatest distance: what a search finds equals a brute force over what they leave."""

import json
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.records import ImageFilter
from app.store.images import SqlImages
from embedding.model_file import Model
from tests.app.conftest import Draw, Start
from tests.app.searching import add_all, by_image, distances, embeddings, found, post
from tests.app.test_hostile_input import assert_problem

COUNT = 24
Points = dict[str, Any]


@pytest.fixture(scope="module")
def filled(client: TestClient, draw: Draw) -> TestClient:
    for seed in range(COUNT):
        metadata = json.dumps({"shelf": seed % 3, "even": seed % 2 == 0})
        add_all(client, {f"f{seed}": draw(seed)}, category="cups" if seed % 4 else "plates", metadata=metadata)
    return client


@pytest.fixture
def points(filled: TestClient, model: Model) -> Points:
    return embeddings(filled, model)


def without(points: Points, *names: str) -> Points:
    return {name: point for name, point in points.items() if name not in names}


@pytest.mark.parametrize(
    ("options", "agrees"),
    [
        ({"category": "plates"}, lambda seed: seed % 4 == 0),
        ({"metadata": {"shelf": 1}}, lambda seed: seed % 3 == 1),
        ({"metadata": {"shelf": 1.0, "even": True}}, lambda seed: seed % 3 == 1 and seed % 2 == 0),
        ({"category": "cups", "metadata": {"shelf": 2}}, lambda seed: seed % 4 and seed % 3 == 2),
        ({"category": "", "metadata": {}}, lambda _: True),
        ({"category": None, "metadata": None}, lambda _: True),
        ({"category": "Cups"}, lambda _: False),
        ({"metadata": {"shelf": "1"}}, lambda _: False),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_filters_are_exact(filled: TestClient, points: Points, options: dict[str, Any], agrees: Any) -> None:
    left = {name: point for name, point in without(points, "f3").items() if agrees(int(name[1:]))}
    for k in (1, 3, COUNT):
        assert found(filled, by_image("f3", k=k, **options)) == distances(left, points["f3"])[:k]


def test_a_form_says_the_same(filled: TestClient, draw: Draw, points: Points) -> None:
    form = {"category": "cups", "metadata": '{"shelf": 2}', "k": "2", "offset": "1", "max_squared_distance": "0.5"}
    answer = filled.post("/v1/search", files={"file": draw(5)}, data=form).json()
    left = {name: point for name, point in points.items() if int(name[1:]) % 4 and int(name[1:]) % 3 == 2}
    expected = [name for name, _ in distances(left, points["f5"])][1:3]
    assert [each["id"] for each in answer["neighbours"]] == expected
    assert (answer["k"], answer["offset"]) == (2, 1)


def test_offset_goes_on_where_the_page_before_ended(filled: TestClient, points: Points) -> None:
    expected = distances(without(points, "f0"), points["f0"])
    pages = [found(filled, by_image("f0", k=5, offset=offset)) for offset in range(0, COUNT + 5, 5)]
    assert [each for page in pages for each in page] == expected
    assert pages[-1] == []


def test_none_is_farther_than_wanted(filled: TestClient, points: Points) -> None:
    expected = distances(without(points, "f0"), points["f0"])
    exactly = found(filled, by_image("f0", k=COUNT))[6][1]
    for most, count in ((exactly, 7), (float(np.nextafter(exactly, 0)), 6), (0, 0), (1e300, COUNT - 1)):
        answer = found(filled, by_image("f0", k=COUNT, max_squared_distance=most))
        assert answer == expected[:count]


def test_what_changes_in_between_is_not_shown(
    start: Start, draw: Draw, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nearest leaves the category after the search knows what to search among; the answer has its full length."""
    matching = SqlImages.matching

    def change_then(images: SqlImages, where: ImageFilter) -> Any:
        seqs = matching(images, where)
        client.patch(f"/v1/images/{nearest}", json={"category": "plates"})
        return seqs

    with start() as client:
        add_all(client, {f"i{seed}": draw(seed) for seed in range(6)}, category="cups")
        nearest, second, third = (name for name, _ in found(client, by_image("i0", k=3)))
        monkeypatch.setattr(SqlImages, "matching", change_then)
        assert [name for name, _ in found(client, by_image("i0", k=2, category="cups"))] == [second, third]


@pytest.mark.parametrize(
    ("options", "code", "named"),
    [
        ({"k": 0}, "out_of_range", "k must be 1 to 1000, got 0"),
        ({"offset": -1}, "out_of_range", "got -1"),
        ({"k": 10, "offset": 991}, "out_of_range", "k + offset must be at most 1000, got 10 + 991"),
        ({"k": 10**30}, "out_of_range", "1000"),
        ({"offset": 10**30}, "out_of_range", "1000"),
        ({"max_squared_distance": -1e-9}, "out_of_range", "0 or more"),
        ({"category": "x" * 201}, "invalid_field", "200"),
        ({"category": "a\0b"}, "invalid_field", "category"),
        ({"metadata": {"a": [1]}}, "invalid_field", "'a'"),
        ({"metadata": {"a": {}}}, "invalid_field", "'a'"),
        ({"metadata": {"a": 2**63}}, "invalid_field", "64 bits"),
        ({"metadata": {str(i): i for i in range(33)}}, "invalid_field", "32 members"),
        ({"metadata": {"a": "\0"}}, "invalid_field", "NUL"),
        ({"metadata": {"a": "x" * 70_000}}, "invalid_field", "65,536"),
        ({"k": "5"}, "validation_error", "image.k"),
        ({"k": 1.5}, "validation_error", "image.k"),
        ({"explain": 1}, "validation_error", "image.explain"),
        ({"max_squared_distance": "1"}, "validation_error", "max_squared_distance"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_options_that_cannot_be_met(filled: TestClient, options: dict[str, Any], code: str, named: str) -> None:
    assert named in assert_problem(post(filled, by_image("f1", **options)), 422, code)["detail"]


def test_a_distance_without_end(filled: TestClient) -> None:
    body = b'{"by": "image", "image_id": "f1", "max_squared_distance": 1e999}'
    response = filled.post("/v1/search", content=body, headers={"content-type": "application/json"})
    assert "finite" in assert_problem(response, 422, "out_of_range")["detail"]
