"""Three replicas, changed through all of them at once: afterwards database and index agree, and so do the replicas.

Then the servers that they share go away under the same load and come back: declared 503s only, and all is as it was.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.app.jobs import finished, wait_for
from tests.replicas.conftest import Shared
from tests.replicas.fleet import Replica, fleet
from tests.replicas.outages import run_through_outages
from tests.replicas.workload import Known, Workload

CLIENTS = 6
ADDED = 40


def test_three_replicas_are_one_service(shared: Shared, draw: Draw, model: Model, other_model: Model) -> None:
    models = (model, other_model)
    with fleet(shared.folder, 3, **shared.settings) as replicas:
        _activate(replicas, models)
        work = Workload(replicas, draw, models)
        work.run(CLIENTS, lambda known: known.counts["added"] >= ADDED and known.counts["activated"] >= 4)
        counts = work.known.counts
        assert [counts[f"shared-{seed}"] for seed in range(3)] == [1, 1, 1]  # of all who added the same bytes at once
        assert min(counts[kind] for kind in ("found", "deleted", "changed", "judged")) > 0, counts
        agree(replicas, work.known, shared, draw)

        work = Workload(replicas, draw, models, known=work.known, may_fail=True)
        run_through_outages(work, CLIENTS, shared, replicas)
        assert counts["refused"] > 0
        agree(replicas, work.settled(replicas[0].client), shared, draw)
    assert not list(shared.folder.glob("*.unused"))  # their data folders


def _activate(replicas: list[Replica], models: tuple[Model, ...]) -> None:
    """Sent to one, activated through another, seen by a third within seconds although nobody asks it for a search."""
    for model in models:
        sent = replicas[0].client.post("/v1/models", files={"file": model.to_bytes()})
        assert sent.status_code == 201
    job = replicas[1].client.post(f"/v1/models/{models[0].version}/activate").json()
    assert finished(replicas[2].client, job)["state"] == "done"
    for replica in replicas:
        wait_for(lambda: _shown_model(replica) == models[0].version)  # noqa: B023 - asked within the turn


def _shown_model(replica: Replica) -> str | None:
    """What its metrics say: they come from memory."""
    lines = replica.client.get("/metrics").text.splitlines()
    return next(
        (line.split('version="')[1].split('"')[0] for line in lines if line.startswith("samekind_model_info")), None
    )


def agree(replicas: list[Replica], known: Known, shared: Shared, draw: Draw) -> None:
    """Every replica tells and finds exactly what was acknowledged, and the index holds exactly that."""
    wait_for(lambda: not _jobs(replicas[0], "waiting", "running"))  # activations that were asked for
    wait_for(shared.is_fed)
    listings = [_listed(replica) for replica in replicas]
    for listing in listings:
        assert {name: each["category"] for name, each in listing.items()} == known.images
        assert len({each["sha256"] for each in listing.values()}) == len(listing)
    for replica in replicas:
        body = {"k": "1000"}
        found = replica.client.post("/v1/search", files={"file": draw(999_999)}, data=body).json()
        names = [each["id"] for each in found["neighbours"]]
        assert sorted(names) == sorted(known.images)
        assert replica.client.get("/v1/stats").json()["indexed"] == len(names)
    wait_for(lambda: len({_shown_model(replica) for replica in replicas}) == 1)
    indexed, stored = shared.indexed_and_stored()
    assert indexed == stored
    assert len(stored) == len(known.images)


def _jobs(replica: Replica, *states: str) -> list[str]:
    """Ids of those in one of the states."""
    return [job["id"] for job in _paged(replica, "jobs") if job["state"] in states]


def _listed(replica: Replica) -> Mapping[str, Any]:
    """All images by their ids."""
    images = list(_paged(replica, "images"))
    listed = {each["id"]: each for each in images}
    assert len(listed) == len(images)
    return listed


def _paged(replica: Replica, what: str) -> Iterator[Mapping[str, Any]]:
    cursor = ""
    while True:
        page = replica.client.get(f"/v1/{what}?limit=100{cursor}").json()
        yield from page[what]
        if not page["next"]:
            return
        cursor = f"&cursor={page['next']}"
