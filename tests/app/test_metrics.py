"""/metrics: what happened is counted, by names that do not grow with use, and nothing there waits for a database."""

from collections.abc import Callable
from typing import Any, get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import create_engine, text
from starlette.testclient import TestClient

from app.ports import Stage
from embedding.model_file import Model
from tests.app.conftest import Draw, Start
from tests.postgresql import Server

Add = Callable[..., dict[str, Any]]
Samples = dict[str, dict[frozenset[tuple[str, str]], float]]  # name -> labels -> value


def samples(exposition: str) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def metrics(client: TestClient) -> Samples:
    response = client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    return samples(response.text)


def value(client: TestClient, name: str, **labels: str) -> float:
    return metrics(client)[name].get(frozenset(labels.items()), 0.0)


def test_every_stage_is_timed(start: Start, add: Add, draw: Draw) -> None:
    with start() as client:
        before = {stage: value(client, "samekind_stage_seconds_count", stage=stage) for stage in get_args(Stage)}
        assert set(before.values()) == {0}
        add(client, 1)
        assert client.post("/v1/search", files={"file": draw(2)}).status_code == 200
        after = {stage: value(client, "samekind_stage_seconds_count", stage=stage) for stage in get_args(Stage)}
        assert all(count >= 1 for count in after.values()), after
        assert after["decode"] == 2
        assert value(client, "samekind_stage_seconds_sum", stage="extract") > 0


def test_requests_are_counted_by_the_template_of_their_route(start: Start) -> None:
    with start() as client:
        for image_id in ("a", "b", "c"):
            client.get(f"/v1/images/{image_id}")
        client.put("/v1/images/a")
        labels = {"method": "GET", "route": "/v1/images/{image_id}"}
        assert value(client, "samekind_requests_total", status="404", **labels) == 3
        assert value(client, "samekind_request_seconds_count", **labels) == 3
        assert not any("/v1/images/a" in str(key) for key in metrics(client)["samekind_requests_total"])


def test_what_no_route_knows_and_no_method_is_makes_no_new_series(start: Start) -> None:
    with start() as client:
        for number in range(5):
            client.get(f"/nothing/{number}")
            client.request(f"ODD{number}", "/healthz")
        assert value(client, "samekind_requests_total", method="GET", route="unmatched", status="404") == 5
        series = metrics(client)["samekind_requests_total"]
        assert {dict(labels)["method"] for labels in series} == {"GET", "other"}


def test_requests_in_flight_and_in_the_queue(start: Start) -> None:
    with start() as client:
        assert value(client, "samekind_requests_in_flight") == 1  # the one that asks
        assert value(client, "samekind_queue_requests") == 0


def test_verdicts_are_counted_when_they_were_stored(start: Start, add: Add) -> None:
    with start() as client:
        for seed in (1, 2, 3):
            add(client, seed, id=f"i{seed}")
        pairs = [{"left": "i1", "right": "i2", "similar": True}, {"left": "i1", "right": "i3", "similar": False}]
        for _ in range(2):  # the second time nothing is new
            client.post("/v1/feedback", json={"pairs": pairs})
        client.post("/v1/feedback", json={"pairs": [{"left": "i1", "right": "ghost", "similar": True}]})
        assert value(client, "samekind_verdicts_total", similar="true") == 1
        assert value(client, "samekind_verdicts_total", similar="false") == 1
        assert value(client, "samekind_groups_total") == 0
        assert value(client, "samekind_verdicts_undone_total") == 0
        made = client.post("/v1/feedback", json={"pairs": [pairs[0] | {"similar": False}]}).json()["feedback_id"]
        client.delete(f"/v1/feedback/{made}")
        client.delete(f"/v1/feedback/{made}")  # nothing is left to take back
        assert value(client, "samekind_verdicts_undone_total") == 1


def test_the_collection_is_shown(start: Start, add: Add, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.api.metrics._COUNT_EVERY_S", 0.0)
    with start() as client:
        for seed in (1, 2):
            add(client, seed)
        assert value(client, "samekind_index_size") == 2
        assert value(client, "samekind_images") == 2
        assert value(client, "samekind_model_info", version=model.version, method="nml") == 1
        assert value(client, "process_resident_memory_bytes") > 0
    with start(model=None, data_dir=client.app.state.settings.data_dir / "empty") as client:  # type: ignore[attr-defined]
        assert value(client, "samekind_index_size") == 0
        version = client.get("/v1/stats").json()["model"]
        assert value(client, "samekind_model_info", version=version, method="untrained") == 1


def test_two_applications_count_apart(start: Start, client: TestClient) -> None:
    with start(model=None) as other:
        client.get("/v1/images/ghost-of-the-first")
        labels = {"method": "GET", "route": "/v1/images/{image_id}", "status": "404"}
        assert value(client, "samekind_requests_total", **labels) > 0
        assert "samekind_requests_total" not in metrics(other)


def test_a_database_that_hangs_is_not_waited_for(start: Start, postgresql: Server) -> None:
    url = postgresql.new_database()
    with start(database_url=url) as client:
        engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as other:
            other.execute(text("LOCK TABLE images IN ACCESS EXCLUSIVE MODE"))
            found = metrics(client)  # while the lock is held
            assert "samekind_images" not in found  # never counted so far
            assert found["samekind_index_size"] == {frozenset(): 0}
            assert client.get("/healthz").status_code == 200
        engine.dispose()
        assert value(client, "samekind_images") == 0
        assert "samekind_images" in metrics(client)
