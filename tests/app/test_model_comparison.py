"""A model that was compared with the active one: what is shown of that, and that a worse one needs force."""

from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.api.rendering import model_details
from app.records import ModelRecord
from embedding.backbone import Backbone
from embedding.model_file import Model
from tests.app.conftest import make_model
from tests.app.models import compared, comparison, details, post, take_over, upload
from tests.app.records import NOW
from tests.app.test_hostile_input import assert_problem


@pytest.mark.parametrize("verdict", ["better", "even"])
def test_it_is_shown_and_one_that_is_not_worse_is_activated(client: TestClient, model: Model, verdict: str) -> None:
    other = compared(model, comparison(verdict))
    upload(client, other)
    shown = details(client, other)
    assert shown["comparison"] == comparison(verdict)
    assert shown["activated"] is None
    (listed,) = [each for each in client.get("/v1/models").json() if each["version"] == other.version]
    assert listed == {name: value for name, value in shown.items() if name != "manifest"}
    assert take_over(client, other)["state"] == "done"
    assert details(client, other)["activated"] > details(client, model)["activated"]


def test_a_worse_one_is_refused_unless_forced_or_active_before(
    client: TestClient, model: Model, backbone: Backbone
) -> None:
    worse = compared(make_model(backbone, seed=60), comparison("worse"))
    upload(client, worse)
    active = client.get("/readyz").json()["model"]
    for body in ({}, {"force": False}):
        problem = assert_problem(post(client, f"{worse.version}/activate", **body), 409, "model_is_worse")
        assert '{"force": true}' in problem["detail"]
    assert client.get("/readyz").json()["model"] == active
    assert take_over(client, worse, force=True)["state"] == "done"
    assert take_over(client, model)["state"] == "done"
    assert take_over(client, worse)["detail"] == f"Model {worse.version} is active."
    assert take_over(client, model)["state"] == "done"


@pytest.mark.parametrize(
    "body", [b"[]", b'{"force": 1}', b'{"force": "yes"}', b'{"forced": true}', b"{", b'"force"', b'{"force": null}']
)
def test_bodies_that_are_none(client: TestClient, model: Model, body: bytes) -> None:
    url = f"/v1/models/{model.version}/activate"
    answer = client.post(url, content=body, headers={"content-type": "application/json"})
    assert_problem(answer, 422, "validation_error")
    assert_problem(
        client.post(url, content=body, headers={"content-type": "text/plain"}), 415, "unsupported_media_type"
    )
    assert_problem(client.post(url, content=body), 415, "unsupported_media_type")


def nested(depth: int) -> Any:
    inner: Any = {}
    for _ in range(depth):
        inner = {"with": inner}
    return inner


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in comparison("even").items() if key != name}


def with_measure(**changes: Any) -> dict[str, Any]:
    even = comparison("even")
    return even | {"measures": [even["measures"][0] | changes]}


HOSTILE = {
    "null": None,
    "text": "worse",
    "number": 7,
    "list": [comparison("better")],
    "deep": nested(25),
    "no verdict": without("verdict"),
    "another verdict": comparison("even") | {"verdict": "best"},
    "a verdict that cannot be hashed": comparison("even") | {"verdict": {}},
    "numbers as text": with_measure(before="0.5"),
    "a number that no float holds": with_measure(before=10**400),
    "a negative count": with_measure(count=-1),
    "a huge count": with_measure(count=10**30),
    "true for a number": with_measure(low=True),
    "a long name": with_measure(name="x" * 10_000),
    "many measures": comparison("even") | {"measures": comparison("even")["measures"] * 100},
    "a version that is long": comparison("even") | {"with": "0" * 5000},
    "categories in one": comparison("even") | {"categories": {"cups": 1}},
    "half a megabyte": comparison("even") | {"categories": [{"category": "x" * 500_000}]},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_comparison_is_not_shown(client: TestClient, model: Model, kind: str) -> None:
    other = compared(model, HOSTILE[kind])
    upload(client, other)
    assert details(client, other)["comparison"] is None
    assert other.version in {each["version"] for each in client.get("/v1/models").json()}
    assert client.delete(f"/v1/models/{other.version}").status_code == 204


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_nor_what_json_has_no_words_for(model: Model, number: float) -> None:
    """No file holds it, and the database's row is left out of listings; but whoever changes that should not get it."""
    manifest = {**model.manifest(), "training": {"comparison": with_measure(high=number)}}
    assert model_details(ModelRecord("v", manifest, NOW, active=False)).comparison is None


def test_members_that_are_not_known_yet_do_no_harm(client: TestClient, model: Model) -> None:
    newer = compared(model, comparison("better") | {"seconds": 7})
    upload(client, newer)
    assert details(client, newer)["comparison"] == comparison("better")


@pytest.mark.parametrize("training", [{}, {"comparison": {}}, {"comparison": "worse"}, {"comparison": {"verdict": []}}])
def test_without_a_verdict_nothing_is_refused(client: TestClient, model: Model, training: dict[str, Any]) -> None:
    other = replace(model, training=training | {"seed": 61})
    upload(client, other)
    assert take_over(client, other)["state"] == "done"
