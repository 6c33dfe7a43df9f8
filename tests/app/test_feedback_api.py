"""/v1/feedback over HTTP, and the trainer's reader at its other end."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from embedding.pairs import Pair, read_pairs
from tests.app.conftest import Draw

Add = Callable[..., dict[str, Any]]
Give = Callable[..., Any]


def verdict(left: str, right: str, similar: bool) -> dict[str, object]:
    return {"left": left, "right": right, "similar": similar}


def exported(client: TestClient, folder: Path) -> list[Pair]:
    response = client.get("/v1/feedback")
    assert response.headers["content-type"] == "application/x-ndjson"
    (folder / "pairs.jsonl").write_text(response.text)
    return read_pairs(folder / "pairs.jsonl") if response.text else []


def test_verdicts_come_out_as_the_trainer_reads_them(with_abc: TestClient, draw: Draw, tmp_path: Path) -> None:
    query_id = with_abc.post("/v1/search", files={"file": draw(9)}).json()["query_id"]
    pairs = [verdict("b", "a", True), verdict("a", "c", False), verdict(query_id, "a", True)]
    answer = with_abc.post("/v1/feedback", json={"pairs": pairs, "source": "a test"})
    assert answer.json() == {
        "recorded": 3, "unchanged": 0, "groups": 0, "groups_unchanged": 0, "agreeing": 0,
        "feedback_id": answer.json()["feedback_id"],
    }  # fmt: skip
    assert exported(with_abc, tmp_path) == [Pair("a", "b", True), Pair("a", "c", False), Pair("a", query_id, True)]


def test_saying_it_again_changes_nothing_and_a_change_of_mind_counts(with_abc: TestClient, tmp_path: Path) -> None:
    for pairs, expected in [
        ([verdict("a", "b", True)], (1, 0)),
        ([verdict("b", "a", True), verdict("a", "b", True)], (0, 2)),
        ([verdict("b", "a", False)], (1, 0)),
    ]:
        answer = with_abc.post("/v1/feedback", json={"pairs": pairs}).json()
        assert (answer["recorded"], answer["unchanged"]) == expected
        assert (answer["feedback_id"] is None) == (expected[0] == 0)
    assert exported(with_abc, tmp_path) == [Pair("a", "b", False)]


def test_pairs_of_a_deleted_image_are_erased(with_abc: TestClient, tmp_path: Path) -> None:
    with_abc.post("/v1/feedback", json={"pairs": [verdict("a", "b", True), verdict("b", "c", True)]})
    with_abc.delete("/v1/images/a")
    assert exported(with_abc, tmp_path) == [Pair("b", "c", True)]
    assert '"a"' not in with_abc.get("/v1/feedback?history=true").text


def test_the_history_holds_every_verdict_oldest_first(with_abc: TestClient) -> None:
    ids = []
    for similar in (True, False):
        body = {"pairs": [verdict("b", "a", similar)], "source": f"said {similar}"}
        ids.append(with_abc.post("/v1/feedback", json=body).json()["feedback_id"])
    with_abc.delete(f"/v1/feedback/{ids[1]}")
    answer = with_abc.get("/v1/feedback?history=true")
    assert answer.headers["content-type"] == "application/x-ndjson"
    first, second = map(json.loads, answer.text.splitlines())
    assert datetime.fromisoformat(first.pop("created")) <= datetime.fromisoformat(second.pop("created"))
    assert datetime.fromisoformat(second.pop("undone")).tzinfo
    same = {"left": "a", "right": "b", "given_by": None}
    assert first == same | {"similar": True, "source": "said True", "feedback_id": ids[0], "undone": None}
    assert second == same | {"similar": False, "source": "said False", "feedback_id": ids[1]}
    assert with_abc.get("/v1/feedback?history=false").text == with_abc.get("/v1/feedback").text


@pytest.mark.parametrize("history", ["", "1", "yes", "True", "both"])
def test_a_history_is_asked_for_in_one_way(with_abc: TestClient, history: str) -> None:
    response = with_abc.get("/v1/feedback", params={"history": history})
    assert (response.status_code, response.json()["code"]) == (422, "validation_error")


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
    with_abc: TestClient, tmp_path: Path, pairs: Any, status: int, code: str, named: str
) -> None:
    good = [verdict("a", "c", True)]
    body = {"pairs": good + pairs if isinstance(pairs, list) and pairs else pairs}
    content = json.dumps(body)  # ASCII, so that broken text can be sent too
    response = with_abc.post("/v1/feedback", content=content, headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (status, code), response.text
    assert named in response.json()["detail"]
    assert exported(with_abc, tmp_path) == []


@pytest.mark.parametrize("source", ["x" * 201, "a\0b", "a\nb"], ids=["long", "NUL", "line break"])
def test_a_source_that_cannot_be_kept(with_abc: TestClient, source: str) -> None:
    response = with_abc.post("/v1/feedback", json={"pairs": [verdict("a", "b", True)], "source": source})
    assert (response.status_code, response.json()["code"]) == (422, "invalid_field")
