"""Feedback of several keys over HTTP: whose word counts, who may take what back, and what is new to the models."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.errors import Forbidden
from app.services.feedback import undo_feedback
from app.services.keys import Caller, create_key
from embedding.model_file import Model
from tests.app.conftest import Start
from tests.app.test_hostile_input import assert_problem

Add = Callable[..., dict[str, Any]]
Headers = dict[str, str]


def keys(client: TestClient) -> list[Headers]:
    """Of three writers and an admin."""
    store = client.app.state.collection.repository.keys  # type: ignore[attr-defined]
    made = [create_key(store, role, role) for role in ("writer", "writer", "writer", "admin")]
    return [{"authorization": f"Bearer {key.text}"} for key in made]


def say(client: TestClient, similar: bool, who: Headers | None = None, right: str = "b") -> dict[str, Any]:
    body = {"pairs": [{"left": "a", "right": right, "similar": similar}]}
    response = client.post("/v1/feedback", json=body, headers=who)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def counting(client: TestClient, who: Headers) -> list[bool]:
    return [json.loads(line)["similar"] for line in client.get("/v1/feedback", headers=who).text.splitlines()]


def undo(client: TestClient, feedback_id: str, who: Headers | None = None) -> Any:
    return client.delete(f"/v1/feedback/{feedback_id}", headers=who)


def test_the_majority_of_keys_counts_and_the_latest_where_they_are_even(with_abc: TestClient) -> None:
    ann, bob, cyd, admin = keys(with_abc)
    say(with_abc, True, ann)
    assert counting(with_abc, admin) == [True]
    say(with_abc, False, bob)
    assert counting(with_abc, admin) == [False]  # even: bob was later
    say(with_abc, True, cyd)
    assert counting(with_abc, admin) == [True]
    assert say(with_abc, True, cyd)["feedback_id"] is None
    assert with_abc.get("/v1/stats", headers=admin).json()["contradicted"] == 1
    say(with_abc, True, bob)
    assert with_abc.get("/v1/stats", headers=admin).json()["contradicted"] == 0
    history = with_abc.get("/v1/feedback?history=true", headers=ann).text
    givers = [json.loads(line)["given_by"] for line in history.splitlines()]
    assert givers == [who["authorization"].split("_")[1] for who in (ann, bob, cyd, bob)]


def test_who_comes_without_a_key_is_told_so(with_abc: TestClient) -> None:
    collection = with_abc.app.state.collection  # type: ignore[attr-defined]
    ann, *_ = keys(with_abc)
    of_ann = say(with_abc, True, ann)["feedback_id"]
    with pytest.raises(Forbidden, match=r"with the key .*, and this call comes without a key: .* an admin's key"):
        undo_feedback(collection, Caller(None, "writer"), of_ann)


def test_one_takes_back_what_is_ones_own_and_an_admin_everything(with_abc: TestClient) -> None:
    without_key = say(with_abc, True, right="c")["feedback_id"]
    ann, bob, _, admin = keys(with_abc)
    of_ann, of_bob = say(with_abc, True, ann)["feedback_id"], say(with_abc, False, bob)["feedback_id"]
    for whose in (of_ann, without_key):
        problem = assert_problem(undo(with_abc, whose, bob), 403, "forbidden")
        assert "an admin's" in problem["detail"]
    assert counting(with_abc, admin) == [True, False]
    assert undo(with_abc, of_bob, bob).json() == {"undone": 1}
    assert undo(with_abc, of_bob, bob).json() == {"undone": 0}
    assert counting(with_abc, admin) == [True, True]
    assert [undo(with_abc, each, admin).json() for each in (of_ann, without_key)] == [{"undone": 1}] * 2
    assert counting(with_abc, admin) == []


@pytest.mark.parametrize("feedback_id", ["ghost", "%00", "x" * 500, "a"])
def test_feedback_that_there_is_not(with_abc: TestClient, feedback_id: str) -> None:
    say(with_abc, True)
    assert_problem(undo(with_abc, feedback_id), 404, "unknown_feedback")
    assert len(with_abc.get("/v1/feedback").text.splitlines()) == 1


def test_of_an_erased_image_nothing_can_be_taken_back(with_abc: TestClient) -> None:
    made = say(with_abc, True)["feedback_id"]
    with_abc.delete("/v1/images/b")
    assert_problem(undo(with_abc, made), 404, "unknown_feedback")


def test_what_was_taken_back_stays_so_after_a_restart(start: Start, add: Add) -> None:
    with start() as client:
        for seed, name in enumerate("ab"):
            add(client, seed, id=name)
        undo(client, say(client, True)["feedback_id"])
    with start() as client:
        assert client.get("/v1/feedback").text == ""
        (line,) = client.get("/v1/feedback?history=true").text.splitlines()
        assert json.loads(line)["undone"]


def test_what_the_newest_model_does_not_know_is_new(with_abc: TestClient, model: Model) -> None:
    for right in "bc":
        say(with_abc, True, right=right)
    last = json.loads(with_abc.get("/v1/training-set").text.splitlines()[0])["last_pair"]
    assert new_verdicts(with_abc) == 2
    learned = trained_on(model, {"collection": {"last_pair": last, "pairs": 2, "images": 3}})
    assert with_abc.post("/v1/models", files={"file": learned}).status_code == 201
    assert new_verdicts(with_abc) == 0
    say(with_abc, False)
    assert new_verdicts(with_abc) == 1


@pytest.mark.parametrize(
    "training", [{}, {"collection": None}, {"collection": []}, {"collection": {"last_pair": "9"}},
                 {"collection": {"last_pair": True}}, {"collection": {"last_pair": -1}}],
)  # fmt: skip
def test_a_model_that_does_not_say_what_it_knows_changes_nothing(
    with_abc: TestClient, model: Model, training: dict[str, Any]
) -> None:
    say(with_abc, True)
    assert with_abc.post("/v1/models", files={"file": trained_on(model, training)}).status_code in (200, 201)
    assert new_verdicts(with_abc) == 1


def test_a_model_of_a_larger_collection_knows_everything(with_abc: TestClient, model: Model) -> None:
    say(with_abc, True)
    learned = trained_on(model, {"collection": {"last_pair": 10**30}})
    assert with_abc.post("/v1/models", files={"file": learned}).status_code == 201
    assert new_verdicts(with_abc) == 0


def trained_on(model: Model, training: dict[str, Any]) -> bytes:
    return replace(model, b=model.b * 2, training=training).to_bytes()


def new_verdicts(client: TestClient) -> int:
    count: int = client.get("/v1/stats").json()["new"]["verdicts"]
    return count
