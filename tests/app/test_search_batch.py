"""/v1/search/batch: each search is answered by itself, in its place."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.conftest import Draw
from tests.app.searching import add_all, by_examples, by_image, post
from tests.app.test_hostile_input import assert_problem

BATCH = "/v1/search/batch"


@pytest.fixture(scope="module")
def filled(client: TestClient, draw: Draw) -> TestClient:
    add_all(client, {f"b{seed}": draw(seed + 400) for seed in range(6)})
    return client


def results(response: Any) -> list[dict[str, Any]]:
    assert response.status_code == 200, response.text
    each: list[dict[str, Any]] = response.json()["results"]
    assert all((one["answer"] is None) != (one["problem"] is None) for one in each)
    return each


def test_answers_are_those_of_single_searches(filled: TestClient) -> None:
    queries = [by_image(f"b{seed}", k=seed + 1) for seed in range(6)] + [by_examples(["b1", "b2"], ["b3"])]
    queries *= 9  # 63: more than run at once
    expected = [post(filled, query).json() for query in queries[:7]] * 9
    assert [each["answer"] for each in results(filled.post(BATCH, json={"queries": queries}))] == expected


def test_one_that_fails_fails_alone(filled: TestClient) -> None:
    bad = [
        (by_image("ghost"), 404, "unknown_image"),
        (by_examples(["ghost"]), 404, "unknown_reference"),
        (by_examples(["b1"], ["b1"]), 422, "invalid_search"),
        (by_image("b1", k=0), 422, "out_of_range"),
        (by_image("b1", metadata={"a": []}), 422, "invalid_field"),
        ({"by": "url", "url": "http://127.0.0.1/"}, 422, "fetch_refused"),
    ]
    good = by_image("b1", k=2)
    queries = [query for each, _, _ in bad for query in (good, each)]
    found = results(filled.post(BATCH, json={"queries": queries}))
    expected = post(filled, good).json()
    assert [each["answer"] for each in found[::2]] == [expected] * len(bad)
    for each, (query, status, code) in zip(found[1::2], bad, strict=True):
        alone = assert_problem(post(filled, query), status, code)
        assert {**each["problem"], "request_id": ""} == {**alone, "request_id": ""}


def test_the_answer_has_a_bound(filled: TestClient) -> None:
    """Each neighbour may bring 64 KiB of metadata."""
    most = [by_image("b1", k=1000)] * 10
    assert len(results(filled.post(BATCH, json={"queries": [*most, by_image("b1", k=10**30), by_image("b1", k=-9)]})))
    assert_problem(filled.post(BATCH, json={"queries": [*most, by_image("b1", k=1)]}), 422, "out_of_range")


def test_many_uploads_share_their_options(filled: TestClient, draw: Draw) -> None:
    files = [draw(seed + 400) for seed in range(5)]
    files.insert(2, b"no picture")
    parts = [("files", (f"{i}.png", file)) for i, file in enumerate(files)]
    found = results(filled.post(BATCH, files=parts, data={"k": "2", "offset": "1", "crop": '{"right": 0.5}'}))
    assert found[2]["problem"]["code"] == "unsupported_image"
    del found[2], files[2]
    for each, file in zip(found, files, strict=True):
        form = {"k": "2", "offset": "1", "crop": '{"right": 0.5}'}
        alone = filled.post("/v1/search", files={"file": file}, data=form).json()
        assert alone["query_id"] != each["answer"]["query_id"]
        for answer, other in zip(each["answer"]["neighbours"], alone["neighbours"], strict=True):
            assert answer["id"] == other["id"]  # extracted together, the last digit of a feature may be another
            assert answer["squared_distance"] == pytest.approx(other["squared_distance"], abs=1e-6)
    assert len({each["answer"]["query_id"] for each in found}) == 5


@pytest.mark.parametrize(
    ("queries", "named"),
    [
        ([], "queries"),
        ([by_image("b1")] * 65, "64"),
        ("b1", "queries"),
        ([{"by": "image"}], "queries.0.image.image_id"),
    ],
    ids=["none", "too many", "no list", "no id"],
)
def test_a_batch_that_is_none(filled: TestClient, queries: Any, named: str) -> None:
    detail = assert_problem(filled.post(BATCH, json={"queries": queries}), 422, "validation_error")["detail"]
    assert named in detail


def test_batches_of_files_that_are_none(filled: TestClient, draw: Draw) -> None:
    many = [("files", ("a.png", b"x"))] * 65
    assert "64" in assert_problem(filled.post(BATCH, files=many), 422, "too_many_files")["detail"]
    wrong = filled.post(BATCH, files={"file": draw(1)})
    assert "file" in assert_problem(wrong, 422, "validation_error")["detail"]
    assert (
        "multipart/form-data"
        in assert_problem(filled.post(BATCH, content=b"x"), 415, "unsupported_media_type")["detail"]
    )
    beside = filled.post(BATCH, files=[("files", ("a.png", draw(1)))], data={"queries": "[]"})
    assert "`queries`" in assert_problem(beside, 422, "invalid_search")["detail"]
