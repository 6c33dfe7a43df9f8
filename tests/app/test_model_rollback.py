"""The way back in one call: to the model that was active before the active one."""

from collections.abc import Callable
from typing import Any

from starlette.testclient import TestClient

from app.services.collection import Collection
from embedding.backbone import Backbone
from embedding.model_file import Model
from tests.app.conftest import Start, make_model
from tests.app.jobs import finished
from tests.app.models import compared, comparison, details, post, take_over, upload
from tests.app.test_hostile_input import assert_problem

Add = Callable[..., dict[str, Any]]


def roll_back(client: TestClient) -> str:
    """The version that is active then."""
    answer = post(client, "rollback")
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/v1/jobs/{answer.json()['id']}"
    assert finished(client, answer.json())["state"] == "done"
    active: str = client.get("/v1/stats").json()["model"]
    return active


def test_it_goes_to_and_fro_and_outlives_a_restart(
    start: Start, add: Add, backbone: Backbone, model: Model, other_model: Model
) -> None:
    third = make_model(backbone, seed=70)
    with start() as client:
        add(client, 1, id="i1")
        assert_problem(post(client, "rollback"), 409, "no_former_model")
        upload(client, other_model, third)
        assert_problem(post(client, "rollback"), 409, "no_former_model")  # they are there, and never were active
        for each in (other_model, third):
            take_over(client, each)
        assert [roll_back(client) for _ in range(3)] == [other_model.version, third.version, other_model.version]
    with start(model=None) as client:
        assert client.get("/readyz").json()["model"] == other_model.version
        assert roll_back(client) == third.version
        found = client.post("/v1/search", json={"by": "image", "image_id": "i1"}).json()
        assert found["model"] == third.version


def test_a_start_with_the_active_models_file_is_no_activation(start: Start, model: Model, other_model: Model) -> None:
    with start() as client:
        upload(client, other_model)
        take_over(client, other_model)
        assert roll_back(client) == model.version
        before = details(client, model)["activated"]
    with start() as client:
        assert details(client, model)["activated"] == before
        assert roll_back(client) == other_model.version


def test_a_former_model_that_is_deleted_leaves_the_one_before_it(
    start: Start, backbone: Backbone, model: Model, other_model: Model
) -> None:
    third = make_model(backbone, seed=71)
    with start() as client:
        upload(client, other_model, third)
        for each in (other_model, third):
            take_over(client, each)
        assert client.delete(f"/v1/models/{other_model.version}").status_code == 204
        assert roll_back(client) == model.version
        assert client.delete(f"/v1/models/{third.version}").status_code == 204
        assert_problem(post(client, "rollback"), 409, "no_former_model")


def test_a_worse_one_that_was_active_may_come_back(start: Start, model: Model) -> None:
    worse = compared(model, comparison("worse"))
    with start() as client:
        upload(client, worse)
        take_over(client, worse, force=True)
        assert [roll_back(client), roll_back(client)] == [model.version, worse.version]


def test_a_former_model_whose_bytes_are_damaged_is_refused(start: Start, model: Model, other_model: Model) -> None:
    with start() as client:
        upload(client, other_model)
        take_over(client, other_model)
        collection: Collection = client.app.state.collection  # type: ignore[attr-defined]
        collection.repository.models.register(model.version, {}, b"damaged", details_time(collection, model))
        assert_problem(post(client, "rollback"), 422, "broken_model_file")
        assert client.get("/v1/stats").json()["model"] == other_model.version


def details_time(collection: Collection, model: Model) -> Any:
    return collection.repository.models.get(model.version).created
