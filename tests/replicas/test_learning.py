"""Three replicas, each with a trainer beside it: exactly one learns, whoever asks, and when it begins by itself."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.app.conftest import Draw
from tests.app.conftest import postgresql as postgresql
from tests.app.jobs import finished, wait_for
from tests.postgresql import Server
from tests.replicas.fleet import Replica, fleet


@pytest.fixture
def replicas(postgresql: Server, tmp_path: Path) -> Iterator[list[Replica]]:
    shared = {
        "database_url": postgresql.new_database(),
        "database_connections": "25",
        "index_url": "pgvector",
        "blobs_url": (tmp_path / "blobs").as_uri(),
    }
    (tmp_path / "blobs").mkdir()
    rules = {"trainer": "auto", "learn_every": "3", "learn_pause_s": "0", "threads": "1"}
    with fleet(tmp_path, 3, **shared, **rules) as replicas:
        yield replicas


def learn_jobs(replica: Replica) -> list[dict[str, Any]]:
    return [job for job in replica.client.get("/v1/jobs").json()["jobs"] if job["kind"] == "learn"]


def started(replicas: list[Replica]) -> int:
    return sum(replica.said().count("a trainer was started beside") for replica in replicas)


def test_exactly_one_of_three_learns(replicas: list[Replica], draw: Draw) -> None:
    for seed in range(6):
        body = {"id": f"i{seed}", "category": "ab"[seed % 2]}
        assert replicas[0].client.post("/v1/images", files={"file": draw(seed)}, data=body).status_code == 201
    with ThreadPoolExecutor(3) as pool:
        asked = list(pool.map(lambda each: each.client.post("/v1/jobs", json={"kind": "learn"}).json(), replicas))
    assert len({job["id"] for job in asked}) == 1
    over = finished(replicas[1].client, asked[0])
    assert over["state"] == "done", over["detail"]
    assert started(replicas) == 1
    active = {replica.client.get("/v1/stats").json()["model"] for replica in replicas}
    assert (active == {over["result"]["model"]}) is over["result"]["taken"]
    assert len(active) == 1

    # They say otherwise than the categories: what only repeats those is nothing new.
    pairs = [{"left": f"i{left}", "right": f"i{left + 1}", "similar": True} for left in range(3)]
    assert replicas[2].client.post("/v1/feedback", json={"pairs": pairs}).json()["recorded"] == 3
    wait_for(lambda: len(learn_jobs(replicas[0])) == 2)
    assert finished(replicas[0].client, learn_jobs(replicas[0])[1])["state"] == "done"
    assert started(replicas) == 2
    assert len(learn_jobs(replicas[1])) == 2
