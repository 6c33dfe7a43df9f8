"""Groups over HTTP: given, told, counted, taken back, refused; in the history, the export and a backup."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.operations.export import export
from app.settings import Settings
from app.store.opened import open_store
from tests.app.conftest import Draw, Start
from tests.app.test_hostile_input import assert_problem

Add = Callable[..., dict[str, Any]]
NAMES = "abcdef"


@pytest.fixture
def service(start: Start, add: Add) -> Iterator[TestClient]:
    """With six images; the first four have a category."""
    with start() as client:
        for seed, name in enumerate(NAMES):
            add(client, seed, id=name, **({"category": "cups" if name in "abc" else "hats"} if seed < 4 else {}))
        yield client


def give(client: TestClient, *groups: dict[str, Any], **others: Any) -> dict[str, Any]:
    response = client.post("/v1/feedback", json={"groups": list(groups)} | others)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def group(same: str, different: str = "") -> dict[str, list[str]]:
    return {"same": list(same), "different": list(different)}


def lines(client: TestClient, path: str = "/v1/feedback") -> list[dict[str, Any]]:
    return [json.loads(line) for line in client.get(path).text.splitlines()]


def stats(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/v1/stats").json()
    return found


def test_a_group_is_one_verdict_with_one_undo(service: TestClient) -> None:
    answer = give(service, group("abe", "df"), source="by eye")
    feedback_id = answer.pop("feedback_id")
    assert answer == {"recorded": 0, "unchanged": 0, "groups": 1, "groups_unchanged": 0, "agreeing": 0}
    counting = {(each["left"], each["right"], each["similar"]) for each in lines(service)}
    similar, dissimilar = {("a", "b"), ("a", "e"), ("b", "e")}, {("a", "d"), ("b", "d"), ("d", "e")}
    dissimilar |= {(each, "f") for each in "abe"}
    assert counting == {(*pair, True) for pair in similar} | {(*pair, False) for pair in dissimilar}
    (told,) = lines(service, "/v1/feedback?history=true")
    assert told.pop("created")
    said = {"same": ["a", "b", "e"], "different": ["d", "f"], "source": "by eye"}
    assert told == said | {"given_by": None, "feedback_id": feedback_id, "undone": None}
    assert (stats(service)["pairs"], stats(service)["verdicts"], stats(service)["new"]["verdicts"]) == (9, 1, 1)
    assert give(service, group("bea", "fd")) == answer | {"groups": 0, "groups_unchanged": 1, "feedback_id": None}
    assert service.delete(f"/v1/feedback/{feedback_id}").json() == {"undone": 1}
    assert lines(service) == []
    assert (stats(service)["pairs"], stats(service)["verdicts"], stats(service)["new"]["verdicts"]) == (0, 0, 0)


def test_groups_and_pairs_in_one_call(service: TestClient, draw: Draw) -> None:
    query_id = service.post("/v1/search", files={"file": draw(9)}).json()["query_id"]
    pairs = [{"left": "e", "right": "f", "similar": False}, {"left": "f", "right": "e", "similar": False}]
    answer = give(service, group("ab", "d"), {"same": ["a", query_id]}, pairs=pairs)
    assert (answer["recorded"], answer["unchanged"], answer["groups"], answer["agreeing"]) == (1, 1, 2, 1)
    assert stats(service)["new"] | {"categories": 0, "total": 0} == {
        "verdicts": 2, "categories": 0, "undone": 0, "agreeing": 1, "total": 0,
    }  # fmt: skip
    assert service.delete(f"/v1/feedback/{answer['feedback_id']}").json() == {"undone": 3}


@pytest.mark.parametrize(
    ("body", "status", "code", "named"),
    [
        pytest.param({}, 422, "bad_pairs", "at least one", id="nothing"),
        pytest.param({"pairs": [], "groups": []}, 422, "bad_pairs", "at least one", id="nothing of both"),
        pytest.param({"groups": [group("a")]}, 422, "bad_pairs", "says nothing", id="one image"),
        pytest.param({"groups": [group("aba")]}, 422, "bad_pairs", "'a' is in a group twice", id="twice"),
        pytest.param({"groups": [group("ab", "b")]}, 422, "bad_pairs", "'b' is in both parts", id="both parts"),
        pytest.param({"groups": [group("abc"), group("a", "c")]}, 422, "bad_pairs", "decide", id="two groups"),
        pytest.param(
            {"groups": [group("abc")], "pairs": [{"left": "c", "right": "a", "similar": False}]},
            422, "bad_pairs", "decide", id="a group and a pair",
        ),
        pytest.param({"groups": [{"same": ["a", "ghost"]}]}, 404, "unknown_reference", "ghost", id="unknown"),
        pytest.param(
            {"groups": [{"same": [f"i{n}" for n in range(60)], "different": [f"j{n}" for n in range(41)]}]},
            422, "bad_pairs", "100", id="too large a group",
        ),
        pytest.param(
            {"groups": [{"same": [f"i{n}" for n in range(101)]}]},
            422, "validation_error", "groups.0.same", id="far too large",
        ),
        pytest.param(
            {"groups": [{"same": [f"i{m}-{n}" for n in range(100)]} for m in range(3)]},
            422, "too_many_pairs", "14,850", id="too many pairs by meaning",
        ),
        pytest.param({"groups": [group("ab")] * 10_001}, 422, "too_many_pairs", "10,001", id="too many groups"),
        pytest.param({"groups": [{"different": ["a"]}]}, 422, "validation_error", "same", id="no same"),
        pytest.param({"groups": [{"same": []}]}, 422, "validation_error", "same", id="empty"),
        pytest.param({"groups": [group("ab") | {"x": 1}]}, 422, "validation_error", "x", id="unknown field"),
        pytest.param({"groups": [{"same": ["a", ""]}]}, 422, "validation_error", "same", id="empty id"),
        pytest.param({"groups": "ab"}, 422, "validation_error", "groups", id="no list"),
    ],
)  # fmt: skip
def test_bad_groups_are_refused_and_nothing_of_the_call_kept(
    service: TestClient, body: dict[str, Any], status: int, code: str, named: str
) -> None:
    response = service.post("/v1/feedback", json=body)
    assert named in assert_problem(response, status, code)["detail"]
    assert lines(service, "/v1/feedback?history=true") == []


def test_of_an_erased_image_nothing_is_told(service: TestClient) -> None:
    give(service, group("abe", "d"))
    service.delete("/v1/images/e")
    (told,) = lines(service, "/v1/feedback?history=true")
    assert (told["same"], told["different"]) == (["a", "b"], ["d"])
    assert '"e"' not in service.get("/v1/feedback").text


def test_a_group_is_in_the_export_and_in_the_training_set(service: TestClient, tmp_path: Path) -> None:
    give(service, group("ae", "df"))
    pairs = [each for each in lines(service, "/v1/training-set") if "similar" in each]
    assert len(pairs) == 5
    with open_store(Settings(data_dir=tmp_path / "data").places) as store:
        exported = export(store, tmp_path / "out")
    assert (exported.pairs, exported.pairs_left_out) == (5, 0)
    (told,) = map(json.loads, (tmp_path / "out" / "feedback.jsonl").read_text().splitlines())
    assert (told["same"], told["different"], told["undone"]) == (["a", "e"], ["d", "f"], None)


def test_it_is_there_after_a_restart(start: Start, add: Add) -> None:
    with start() as client:
        for seed, name in enumerate("abc"):
            add(client, seed, id=name)
        give(client, group("ab", "c"))
        before = client.get("/v1/feedback?history=true").text
    with start() as client:
        assert client.get("/v1/feedback?history=true").text == before
        assert client.get("/v1/stats").json()["verdicts"] == 1
