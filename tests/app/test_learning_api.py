"""Learn jobs over HTTP: asked for, claimed, told about, cancelled; and the key that is good for one of them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.main import tell_address
from app.services.collection import Collection
from app.services.keys import create_key
from embedding.model_file import Model
from tests.app.conftest import Start
from tests.app.jobs import finished
from tests.app.test_hostile_input import assert_problem

Json = dict[str, Any]


@pytest.fixture
def client(start: Start) -> Iterator[TestClient]:
    with start(model=None) as client:
        yield client


def collection_of(client: TestClient) -> Collection:
    found: Collection = client.app.state.collection  # type: ignore[attr-defined]
    return found


def asked(client: TestClient, **options: Any) -> Json:
    answer = client.post("/v1/jobs", json={"kind": "learn"} | options)
    assert answer.status_code == 202, answer.text
    job: Json = answer.json()
    assert answer.headers["Location"] == f"/v1/jobs/{job['id']}"
    return job


def claimed(client: TestClient, **options: Any) -> Json:
    answer = client.post("/v1/jobs/claim", json={"kinds": ["learn"]} | options)
    assert answer.status_code == 200, answer.text
    job: Json = answer.json()
    return job


def told(client: TestClient, job: Json, **changes: Any) -> Any:
    body = {"lease": job["lease"], "phase": "learning", "share": 0.25, "seconds_left": 9.5} | changes
    return client.post(f"/v1/jobs/{job['id']}/progress", json=body)


def over(client: TestClient, job: Json, state: str, **more: Any) -> Any:
    body = {"lease": job["lease"], "state": state, "detail": "That is it."} | more
    return client.post(f"/v1/jobs/{job['id']}/result", json=body)


RESULT = {"taken": True, "model": "v", "verdict": "better", "marks": {"last_pair": 3}}


def test_from_the_question_to_the_result(client: TestClient) -> None:
    job = asked(client, force=True)
    assert (job["kind"], job["state"], job["phase"], job["result"]) == ("learn", "waiting", None, None)
    assert asked(client)["id"] == job["id"]
    mine = claimed(client)
    assert (mine["id"], mine["state"], mine["force"], mine["level"]) == (job["id"], "running", True, "head")
    assert mine["lease_s"] == 60
    assert client.post("/v1/jobs/claim", json={"kinds": ["learn"]}).status_code == 204
    assert asked(client)["state"] == "running"
    assert told(client, mine).json() == {"state": "running", "lease_s": 60}
    now = client.get(f"/v1/jobs/{job['id']}").json()
    assert (now["phase"], now["done"], now["total"], now["seconds_left"]) == ("learning", 250, 1000, 9.5)
    assert "lease" not in now
    done = over(client, mine, "done", result=RESULT).json()
    assert (done["state"], done["result"], done["detail"], done["phase"]) == ("done", RESULT, "That is it.", None)
    assert client.get("/v1/jobs").json()["jobs"] == [done]
    assert asked(client)["id"] != job["id"]


def test_without_a_trainer_it_says_what_to_start(client: TestClient) -> None:
    job = asked(client)
    for shown in (job, client.get(f"/v1/jobs/{job['id']}").json(), client.get("/v1/jobs").json()["jobs"][0]):
        assert "trainer update --watch --server http://127.0.0.1:8000`" in shown["detail"]
    given_back = over(client, claimed(client), "waiting").json()
    assert (given_back["state"], given_back["detail"]) == ("waiting", None)
    shown = client.get(f"/v1/jobs/{job['id']}").json()
    assert shown["detail"] is None  # one has asked for work a moment ago
    long_ago = datetime.now(UTC) - timedelta(minutes=6)
    collection_of(client).repository.learn_jobs.looked(long_ago)
    assert "waits for a trainer" in client.get(f"/v1/jobs/{job['id']}").json()["detail"]
    collection_of(client).learning.has_trainer = True
    assert client.get(f"/v1/jobs/{job['id']}").json()["detail"] is None


def test_one_call_makes_and_takes_one(client: TestClient) -> None:
    mine = claimed(client, new=True, force=True)
    assert (mine["state"], mine["force"]) == ("running", True)
    assert client.post("/v1/jobs/claim", json={"kinds": ["learn"], "new": True}).status_code == 204


def test_who_is_silent_loses_it(client: TestClient) -> None:
    rules = collection_of(client).learning
    asked(client)
    former = claimed(client)
    rules.lease, rules.opened = timedelta(0), datetime.now(UTC) - timedelta(minutes=1)
    latter = claimed(client)
    rules.lease = timedelta(minutes=1)
    assert latter["id"] == former["id"]
    for answer in (told(client, former), over(client, former, "done", result=RESULT), over(client, former, "waiting")):
        assert "another trainer" in assert_problem(answer, 409, "lease_lost")["detail"]
    assert told(client, latter).status_code == 200


def test_after_a_start_trainers_have_time_to_be_heard(client: TestClient) -> None:
    rules = collection_of(client).learning
    asked(client)
    former = claimed(client)
    rules.lease, rules.opened = timedelta(seconds=0.2), datetime.now(UTC)
    rules.opened += timedelta(minutes=1)  # as if the service had started only now
    time.sleep(0.3)
    assert client.post("/v1/jobs/claim", json={"kinds": ["learn"]}).status_code == 204
    assert told(client, former).status_code == 200


def test_the_trainer_hears_that_it_is_cancelled_and_nothing_is_activated(
    client: TestClient, model: Model, other_model: Model
) -> None:
    asked(client)
    mine = claimed(client)
    versions = [
        client.post("/v1/models", files={"file": each.to_bytes()}).json()["version"] for each in (model, other_model)
    ]
    lease = {"learn_job": mine["id"], "lease": mine["lease"]}
    wrong = client.post(f"/v1/models/{versions[0]}/activate", json=lease | {"lease": "x"})
    assert_problem(wrong, 409, "lease_lost")
    part = client.post(f"/v1/models/{versions[0]}/activate", json=lease).json()
    assert finished(client, part)["state"] == "done"
    assert client.delete(f"/v1/jobs/{mine['id']}").json()["state"] == "cancelled"
    assert told(client, mine).json()["state"] == "cancelled"
    refused = client.post(f"/v1/models/{versions[1]}/activate", json=lease)
    assert_problem(refused, 409, "lease_lost")
    assert client.get("/v1/stats").json()["model"] == versions[0]
    assert over(client, mine, "failed").json()["state"] == "cancelled"


def test_what_cannot_be(client: TestClient) -> None:
    mine = claimed(client, new=True)
    for changes in ({"share": 1.1}, {"share": -0.1}, {"phase": "x" * 201}, {"lease": "no lease"}, {"more": 1}):
        assert_problem(told(client, mine, **changes), 422, "validation_error")
    for result in ({}, RESULT | {"more": 1}, RESULT | {"marks": {"last_pair": -1}}, RESULT | {"taken": 1}):
        assert_problem(over(client, mine, "done", result=result), 422, "validation_error")
    assert_problem(over(client, mine, "cancelled"), 422, "validation_error")
    for body in ({"kind": "import"}, {"kind": "learn", "level": "all"}, {}):
        assert_problem(client.post("/v1/jobs", json=body), 422, "validation_error")
    assert_problem(client.post("/v1/jobs/claim", json={"kinds": []}), 422, "validation_error")
    assert_problem(told(client, mine | {"id": "nobodys"}), 404, "unknown_job")


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_a_jobs_own_key_does_what_learning_needs_and_no_more(start: Start, model: Model) -> None:
    with start(model=None, requests_per_minute=2) as client:
        admin = bearer(create_key(collection_of(client).repository.keys, "a", "admin").text)
        mine = client.post("/v1/jobs/claim", json={"kinds": ["learn"], "new": True}, headers=admin).json()
        keys = client.app.state.access.job_keys  # type: ignore[attr-defined]
        with keys.key_for(mine["id"]) as key:
            own = bearer(key)
            for _ in range(3):  # it has no limits
                assert client.get("/v1/stats", headers=own).status_code == 200
            assert client.get("/v1/training-set", headers=own).status_code == 200
            sent = client.post("/v1/models", files={"file": model.to_bytes()}, headers=own)
            assert sent.status_code == 201
            who = client.get("/v1/whoami", headers=own).json()
            assert (who["role"], who["name"]) == ("reader", f"learn job {mine['id']}")
            body = {"lease": mine["lease"], "phase": "x", "share": 0}
            assert client.post(f"/v1/jobs/{mine['id']}/progress", json=body, headers=own).status_code == 200
            assert_problem(client.post("/v1/jobs/another/progress", json=body, headers=own), 403, "forbidden")
            activate = f"/v1/models/{sent.json()['version']}/activate"
            assert_problem(client.post(activate, headers=own), 403, "forbidden")
            lease = {"learn_job": mine["id"], "lease": mine["lease"]}
            assert client.post(activate, json=lease, headers=own).status_code == 202
            for method, path in (
                ("POST", "/v1/images"),
                ("POST", "/v1/feedback"),
                ("POST", "/v1/jobs"),
                ("POST", "/v1/jobs/claim"),
                ("POST", "/v1/reindex"),
                ("DELETE", f"/v1/jobs/{mine['id']}"),
                ("DELETE", "/v1/images/x"),
            ):
                assert_problem(client.request(method, path, headers=own), 403, "forbidden")
        assert_problem(client.get("/v1/stats", headers=own), 401, "unauthenticated")
        assert client.get("/v1/stats", headers=admin).status_code == 200  # of whose limit nothing was taken


def test_a_jobs_own_key_closes_nothing(start: Start) -> None:
    with start(model=None) as client:
        with client.app.state.access.job_keys.key_for("job"):  # type: ignore[attr-defined]
            assert client.delete("/v1/images/x").status_code == 404
        assert client.get("/v1/whoami").json()["keys_needed"] is False


def test_the_own_address_may_be_named(start: Start) -> None:
    with start(model=None, allowed_hosts="photos.example.com") as client:
        assert client.get("/healthz").status_code == 421
        tell_address(client.app, "http://127.0.0.1:8000")  # type: ignore[arg-type]
        assert client.get("/healthz").status_code == 200
        assert client.get("/healthz", headers={"host": "evil.example.com"}).status_code == 421
    with start(model=None, allowed_hosts="photos.example.com", trainer="remote") as client:
        tell_address(client.app, "http://127.0.0.1:8000")  # type: ignore[arg-type]
        assert client.get("/healthz").status_code == 421
