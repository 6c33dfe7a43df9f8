"""Jobs: one after the other, resumed, cancelled between batches, failed with a reason, forgotten when they are old."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.errors import StoreUnavailable
from app.jobs.doing import do_next
from app.parts import open_collection
from app.records import JobProgress
from app.services.collection import Collection
from app.services.housekeeping import keep_house
from app.services.imports import start_import
from app.services.jobs import add_job, cancel_job, job_failures
from app.settings import Settings
from tests.app.conftest import Draw, Start
from tests.app.jobs import finished, wait_for

Add = Callable[..., dict[str, Any]]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "pictures").mkdir()
    return Settings(data_dir=tmp_path / "data", import_dir=tmp_path / "pictures")


@pytest.fixture
def collection(settings: Settings) -> Iterator[Collection]:
    """Without the thread that does jobs: each test does them itself."""
    with open_collection(settings) as collection:
        yield collection


def put(folder: Path, draw: Draw, count: int) -> None:
    for seed in range(count):
        (folder / f"{seed:03}.png").write_bytes(draw(seed))


def never() -> bool:
    return False


def test_a_job_is_done_and_says_so(start: Start, add: Add) -> None:
    with start() as client:
        add(client, 1)
        asked = client.post("/v1/reindex")
        assert (asked.status_code, asked.headers["Location"]) == (202, f"/v1/jobs/{asked.json()['id']}")
        job = finished(client, asked.json())
        assert (job["kind"], job["state"], job["total"], job["done"], job["failed"]) == ("reindex", "done", 1, 1, 0)
        assert job["created"] <= job["started"] <= job["finished"]
        assert client.get(asked.headers["Location"]).json() == job
        assert client.get(f"/v1/jobs/{job['id']}/failures").text == ""
        assert client.delete(f"/v1/jobs/{job['id']}").json() == job  # it is finished, so it stays as it is


def test_pages_of_jobs(start: Start) -> None:
    with start() as client:
        ids = [client.post("/v1/reindex").json()["id"] for _ in range(3)]
        page = client.get("/v1/jobs", params={"limit": 2}).json()
        rest = client.get("/v1/jobs", params={"limit": 2, "cursor": page["next"]}).json()
        assert [job["id"] for job in page["jobs"] + rest["jobs"]] == ids
        assert rest["next"] is None
        assert client.get("/v1/jobs?limit=0").json()["code"] == "out_of_range"
        assert client.get("/v1/jobs?cursor=x").json()["code"] == "invalid_cursor"


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "/failures"), ("DELETE", "")])
def test_an_unknown_job(start: Start, method: str, path: str) -> None:
    with start(model=None) as client:
        answer = client.request(method, f"/v1/jobs/nonsense{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_job")


def test_an_index_of_plain_features_is_built_anew_too(start: Start) -> None:
    with start(model=None) as client:
        assert finished(client, client.post("/v1/reindex").json())["state"] == "done"


def test_what_a_former_process_began_is_done_again_from_its_start(settings: Settings, draw: Draw) -> None:
    pictures = settings.import_dir
    assert pictures
    put(pictures, draw, 40)
    asked = iter(range(1000))
    with open_collection(settings) as collection:
        job = start_import(collection, ".")
        assert do_next(collection, lambda: next(asked) > 60)  # stopped in its midst, after the listing
        half = collection.repository.jobs.get(job.id)
        assert half.state == "running"
        assert 0 < collection.repository.counts().images < 40
    with open_collection(settings) as collection:
        assert do_next(collection, never)
        job = collection.repository.jobs.get(job.id)
        assert (job.state, job.total, job.done, job.failed) == ("done", 40, 40, 0)
        assert collection.repository.counts().images == 40
        assert not do_next(collection, never)


def test_a_stop_does_not_wait_for_the_job_and_the_next_start_goes_on(
    start: Start, settings: Settings, tmp_path: Path, draw: Draw
) -> None:
    put(tmp_path / "pictures", draw, 60)
    with start(import_dir=settings.import_dir) as client:
        job = client.post("/v1/imports", json={"path": "."}).json()
        wait_for(lambda: client.get("/v1/stats").json()["images"] > 0)
    with open_collection(settings) as collection:
        assert collection.repository.jobs.get(job["id"]).state == "running"
    with start(import_dir=settings.import_dir) as client:
        assert finished(client, job)["done"] == 60
        assert client.get("/v1/stats").json()["indexed"] == 60


def test_a_cancelled_job_leaves_off_between_batches(collection: Collection, tmp_path: Path, draw: Draw) -> None:
    put(tmp_path / "pictures", draw, 40)
    (tmp_path / "pictures" / "000.png").write_bytes(b"no picture")  # what did not go well is written down at once
    job = start_import(collection, ".")
    following = start_import(collection, ".")
    asked = iter(range(1000))

    def cancelled_in_its_midst() -> bool:
        if next(asked) == 60:
            time.sleep(1.1)  # so that the next look is one at the database too
            assert cancel_job(collection, job.id).state == "cancelled"
        return False

    assert do_next(collection, cancelled_in_its_midst)
    assert collection.repository.jobs.get(job.id).state == "cancelled"
    assert collection.repository.counts().images < 39
    assert [failure.code for failure in job_failures(collection, job.id)] == ["unsupported_image"]
    assert do_next(collection, never)
    assert collection.repository.jobs.get(following.id).done == 39
    assert collection.repository.counts().images == 39


def test_a_job_that_waits_is_cancelled_at_once(collection: Collection) -> None:
    job = start_import(collection, ".")
    assert cancel_job(collection, job.id).state == "cancelled"
    assert not do_next(collection, never)


def test_trouble_with_the_store_is_waited_for(collection: Collection, tmp_path: Path, draw: Draw) -> None:
    put(tmp_path / "pictures", draw, 2)
    job = start_import(collection, ".")
    blobs = tmp_path / "data" / "blobs"
    aside = blobs.rename(tmp_path / "aside")
    blobs.write_text("in the way of the folder")
    with pytest.raises(StoreUnavailable):
        do_next(collection, never)
    waits = collection.repository.jobs.get(job.id)
    assert waits.state == "running"
    assert "blob store" in (waits.detail or "")
    blobs.unlink()
    aside.rename(blobs)
    assert do_next(collection, never)
    assert collection.repository.jobs.get(job.id).detail == "Added 2 pictures; 0 were there already."


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        pytest.param("activate", {}, "The log has it under job", id="a surprise"),
        pytest.param("activate", {"version": "none"}, "no model of version 'none'", id="an error of ours"),
        pytest.param("later", {}, "knows no jobs of kind 'later'", id="of a later version"),
        pytest.param("add", {"files": 1}, "send them again", id="files gone"),
    ],
)
def test_a_job_that_cannot_be_done_fails_with_a_reason_and_the_next_one_goes_on(
    collection: Collection, caplog: pytest.LogCaptureFixture, kind: str, payload: dict[str, Any], said: str
) -> None:
    bad, good = add_job(collection, kind, payload), start_import(collection, ".")
    assert do_next(collection, never)
    job = collection.repository.jobs.get(bad.id)
    assert job.state == "failed"
    assert said in (job.detail or "")
    assert bad.id in caplog.text
    assert ("Traceback" in caplog.text) == (kind == "activate" and not payload)
    assert do_next(collection, never)
    assert collection.repository.jobs.get(good.id).state == "failed"  # an empty folder
    assert "holds no pictures" in (collection.repository.jobs.get(good.id).detail or "")


def test_old_jobs_are_forgotten_by_housekeeping(collection: Collection, settings: Settings) -> None:
    old, new = add_job(collection, "reindex", {}), add_job(collection, "reindex", {})
    kept_for = timedelta(seconds=settings.job_retention_s)
    for job, age in ((old, kept_for + timedelta(hours=1)), (new, kept_for - timedelta(hours=1))):
        collection.repository.jobs.start(job.id, "attempt", datetime.now(UTC))
        collection.repository.jobs.finish(job.id, "attempt", "done", JobProgress(), datetime.now(UTC) - age)
    keep_house(collection, time.time(), never)
    assert [job.id for job in collection.repository.jobs.page(10)] == [new.id]
