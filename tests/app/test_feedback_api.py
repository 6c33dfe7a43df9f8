"""/v1/feedback over HTTP, and the trainer's reader at its other end."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from embedding.pairs import Pair, read_pairs
from tests.app.conftest import Draw, Start

Add = Callable[..., dict[str, Any]]
Give = Callable[..., Any]


@pytest.fixture
def service(start: Start, add: Add) -> Iterator[TestClient]:
    """A service with three images, a, b and c."""
    with start() as client:
        for seed, name in enumerate("abc"):
            add(client, seed, id=name)
        yield client


def verdict(left: str, right: str, similar: bool) -> dict[str, object]:
    return {"left": left, "right": right, "similar": similar}


def exported(client: TestClient, folder: Path) -> list[Pair]:
    response = client.get("/v1/feedback")
    assert response.headers["content-type"] == "application/x-ndjson"
    (folder / "pairs.jsonl").write_text(response.text)
    return read_pairs(folder / "pairs.jsonl") if response.text else []


def test_verdicts_come_out_as_the_trainer_reads_them(service: TestClient, draw: Draw, tmp_path: Path) -> None:
    query_id = service.post("/v1/search", files={"file": draw(9)}).json()["query_id"]
    pairs = [verdict("b", "a", True), verdict("a", "c", False), verdict(query_id, "a", True)]
    answer = service.post("/v1/feedback", json={"pairs": pairs, "source": "a test"})
    assert answer.json() == {"recorded": 3, "unchanged": 0}
    assert exported(service, tmp_path) == [Pair("a", "b", True), Pair("a", "c", False), Pair("a", query_id, True)]


def test_saying_it_again_changes_nothing_and_a_change_of_mind_counts(service: TestClient, tmp_path: Path) -> None:
    for pairs, expected in [
        ([verdict("a", "b", True)], (1, 0)),
        ([verdict("b", "a", True), verdict("a", "b", True)], (0, 2)),
        ([verdict("b", "a", False)], (1, 0)),
    ]:
        answer = service.post("/v1/feedback", json={"pairs": pairs}).json()
        assert (answer["recorded"], answer["unchanged"]) == expected
    assert exported(service, tmp_path) == [Pair("a", "b", False)]


def test_pairs_of_a_deleted_image_are_not_exported(service: TestClient, tmp_path: Path) -> None:
    service.post("/v1/feedback", json={"pairs": [verdict("a", "b", True), verdict("b", "c", True)]})
    service.delete("/v1/images/a")
    assert exported(service, tmp_path) == [Pair("b", "c", True)]


@pytest.mark.parametrize(
    ("pairs", "status", "code", "named"),
    [
        pytest.param([verdict("a", "a", True)], 422, "bad_pairs", "'a'", id="self pair"),
        pytest.param([verdict("a", "ghost", True)], 404, "unknown_reference", "ghost", id="unknown image"),
        pytest.param([verdict("a", "q_ghost", True)], 404, "unknown_reference", "q_ghost", id="unknown query"),
        pytest.param([verdict("a", "b", True), verdict("b", "a", False)], 422, "bad_pairs", "decide", id="both"),
        pytest.param([], 422, "bad_pairs", "at least one", id="no pairs"),
        pytest.param([verdict("a", "b", True)] * 10_001, 422, "too_many_pairs", "10,000", id="too many"),
        pytest.param([verdict("", "b", True)], 422, "validation_error", "left", id="empty id"),
        pytest.param([verdict("x" * 201, "b", True)], 422, "validation_error", "left", id="long id"),
        pytest.param([{"left": "a", "right": "b"}], 422, "validation_error", "similar", id="no verdict"),
        pytest.param([verdict("a", "b", True) | {"z": 1}], 422, "validation_error", "z", id="unknown field"),
        pytest.param([verdict("\ud800", "b", True)], 422, "validation_error", "left", id="half a surrogate pair"),
        pytest.param([verdict("a\0", "b", True)], 404, "unknown_reference", "a", id="NUL"),
        pytest.param("a", 422, "validation_error", "pairs", id="no list"),
    ],
)
def test_bad_feedback_is_refused_and_nothing_of_it_kept(
    service: TestClient, tmp_path: Path, pairs: Any, status: int, code: str, named: str
) -> None:
    good = [verdict("a", "c", True)]
    body = {"pairs": good + pairs if isinstance(pairs, list) and pairs else pairs}
    content = json.dumps(body)  # ASCII, so that broken text can be sent too
    response = service.post("/v1/feedback", content=content, headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (status, code), response.text
    assert named in response.json()["detail"]
    assert exported(service, tmp_path) == []


@pytest.mark.parametrize("source", ["x" * 201, "a\0b", "a\nb"], ids=["long", "NUL", "line break"])
def test_a_source_that_cannot_be_kept(service: TestClient, source: str) -> None:
    response = service.post("/v1/feedback", json={"pairs": [verdict("a", "b", True)], "source": source})
    assert (response.status_code, response.json()["code"]) == (422, "invalid_field")
