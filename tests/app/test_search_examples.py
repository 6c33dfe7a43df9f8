"""Searches by several examples, against the sum of distances that they are said to make small."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from starlette.testclient import TestClient

from app.records import QueryRecord
from app.services.examples import NEGATIVE_WEIGHT, point_between
from embedding.model_file import Model
from tests.app.conftest import Draw, Start
from tests.app.searching import add_all, by_examples, by_image, embeddings, found, post
from tests.app.test_hostile_input import assert_problem

COUNT = 12
coordinates = st.floats(-10, 10, width=32)


@pytest.fixture(scope="module")
def filled(client: TestClient, draw: Draw) -> TestClient:
    add_all(client, {f"e{seed}": draw(seed + 200) for seed in range(COUNT)})
    return client


@given(
    positives=st.integers(1, 4).flatmap(lambda n: arrays(np.float32, (n, 3), elements=coordinates)),
    negatives=st.integers(0, 4).flatmap(lambda n: arrays(np.float32, (n, 3), elements=coordinates)),
    answers=arrays(np.float32, (2, 3), elements=coordinates),
    weight=st.sampled_from([0.0, 0.25, 0.9]),
)
def test_the_point_orders_as_the_sum_does(positives: Any, negatives: Any, answers: Any, weight: float) -> None:
    """f(y) - f(z) = (1 - w) (|y - c|^2 - |z - c|^2); w is 0 where there are no negatives."""
    point = point_between(positives, negatives, weight).astype(np.float64)
    w = weight if len(negatives) else 0.0

    def f(y: Any) -> float:
        away = w * np.square(negatives.astype(np.float64) - y).sum(axis=1).mean() if w else 0.0
        return float(np.square(positives.astype(np.float64) - y).sum(axis=1).mean() - away)

    y, z = answers.astype(np.float64)
    difference = (1 - w) * (np.square(y - point).sum() - np.square(z - point).sum())
    assert f(y) - f(z) == pytest.approx(difference, abs=1e-2)  # c is a float32, up to 200 here


@given(arrays(np.float32, (1, 5), elements=st.floats(-(2.0**99), 2.0**99, width=32)))
def test_one_positive_is_the_point_itself(positive: Any) -> None:
    assert np.array_equal(point_between(positive, np.empty((0, 5), np.float32)), positive[0])


def test_answers_are_in_the_order_of_the_sum(filled: TestClient, model: Model) -> None:
    points = embeddings(filled, model)
    positives, negatives = ["e0", "e5", "e7"], ["e3", "e8"]

    def f(y: Any) -> float:
        near = [np.square(points[name] - y).sum() for name in positives]
        far = [np.square(points[name] - y).sum() for name in negatives]
        return float(np.mean(near) - NEGATIVE_WEIGHT * np.mean(far))

    others = [name for name in points if name not in positives + negatives]
    answer = found(filled, by_examples(positives, negatives, k=COUNT))
    assert [name for name, _ in answer] == sorted(others, key=lambda name: f(points[name]))
    near, far = (np.array([points[name] for name in names], np.float32) for names in (positives, negatives))
    centre = point_between(near, far)
    assert answer == [(name, float(np.square(points[name] - centre.astype(np.float64)).sum())) for name, _ in answer]


def test_without_negatives_it_is_the_mean(filled: TestClient, model: Model) -> None:
    points = embeddings(filled, model)
    mean = (points["e1"] + points["e2"]) / 2
    answer = found(filled, by_examples(["e1", "e2"], k=COUNT))
    assert len(answer) == COUNT - 2
    assert [each for _, each in answer] == pytest.approx([np.square(points[name] - mean).sum() for name, _ in answer])


def test_one_positive_equals_the_search_by_that_image(filled: TestClient) -> None:
    one, two = post(filled, by_image("e4", k=5)).json(), post(filled, by_examples(["e4"], k=5)).json()
    assert one == two
    assert len(one["neighbours"]) == 5
    assert found(filled, by_examples(["e4", "e4"], k=5)) == found(filled, by_image("e4", k=5))


def test_kept_queries_are_examples_too(filled: TestClient, draw: Draw) -> None:
    by_upload = filled.post("/v1/search", files={"file": draw(900)}, data={"k": "5"}).json()
    by_query = post(filled, by_examples([by_upload["query_id"]], k=5)).json()
    assert by_query["neighbours"] == by_upload["neighbours"]
    assert by_query["query_id"] is None
    mixed = found(filled, by_examples([by_upload["query_id"], "e0"], ["e1"], k=COUNT))
    assert {name for name, _ in mixed} == {f"e{seed}" for seed in range(2, COUNT)}


def test_an_expired_query_is_no_example(start: Start, draw: Draw) -> None:
    past = datetime(2020, 1, 1, tzinfo=UTC)
    with start() as client:
        add_all(client, {"there": draw(1)})
        repository = client.app.state.collection.repository  # type: ignore[attr-defined]
        repository.queries.add(QueryRecord("q_old", past, past), repository.images.features("there"))
        assert_problem(post(client, by_examples(["there", "q_old"])), 404, "unknown_reference")


@pytest.mark.parametrize("name", ["ghost", "q_ghost", "a\0b", "é", "x" * 200])
def test_unknown_examples_are_named(filled: TestClient, name: str) -> None:
    for body in (by_examples(["e1", name]), by_examples(["e1"], [name, "q_other"])):
        assert ascii(name)[:50] in assert_problem(post(filled, body), 404, "unknown_reference")["detail"]


@pytest.mark.parametrize(
    ("body", "code", "named"),
    [
        (by_examples(["e1", "e2"], ["e3", "e2"]), "invalid_search", "'e2'"),
        (by_examples([]), "validation_error", "positives"),
        (by_examples(["e1"] * 101), "validation_error", "positives"),
        (by_examples(["e1"], ["e2"] * 101), "validation_error", "negatives"),
        (by_examples(["x" * 201]), "validation_error", "positives"),
        (by_examples([""]), "validation_error", "positives"),
        (by_examples(["e1"], crop={"right": 0.5}), "validation_error", "'crop'"),
        ({"by": "examples", "negatives": ["e1"]}, "validation_error", "positives"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_examples_that_are_no_search(filled: TestClient, body: dict[str, Any], code: str, named: str) -> None:
    assert named in assert_problem(post(filled, body), 422, code)["detail"]
