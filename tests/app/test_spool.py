"""Uploaded files of a job: kept as long as they are needed, whatever happens, and no longer."""

import io
import itertools
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fsspec.core import url_to_fs

from app import worker
from app.errors import StoreUnavailable
from app.jobs.doing import do_next
from app.parts import open_collection
from app.records import BatchFile, JobProgress
from app.services.batches import start_adding
from app.services.collection import Collection
from app.services.images import delete_image
from app.services.jobs import cancel_job, discard_strays, forget_old_jobs, job_failures
from app.settings import Settings
from app.store.remote import RemoteFiles
from app.store.shared_spool import SharedSpool
from tests.app.conftest import Draw, Start
from tests.app.jobs import wait_for

FILES = 40


@pytest.fixture(params=["folder", "shared"])
def collection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Collection]:
    """Without the thread that does jobs: each test does them itself."""
    with open_collection(Settings(data_dir=tmp_path / "data")) as collection:
        if request.param == "shared":
            files, root = url_to_fs(f"memory://{uuid.uuid4().hex}")
            collection.spool = SharedSpool(RemoteFiles(files, root, "The blob store"))
        yield collection


def upload(collection: Collection, draw: Draw, *more: bytes) -> str:
    """The id of a job that adds pictures."""
    contents = [draw(seed) for seed in range(FILES)] + list(more)
    files = [BatchFile(f"{number}.png", io.BytesIO(each), f"i{number}") for number, each in enumerate(contents)]
    return start_adding(collection, files).id


def left(collection: Collection, job_id: str) -> int | None:
    """How many files are kept for a job; None: nothing is."""
    try:
        with collection.spool.reading(job_id, lambda: None) as kept:
            return kept.left
    except FileNotFoundError:
        assert job_id not in collection.spool.jobs()
        return None


def never() -> bool:
    return False


def test_what_was_deleted_does_not_come_back_when_the_job_goes_on(collection: Collection, draw: Draw) -> None:
    job_id = upload(collection, draw, b"no picture")
    asked = itertools.count()
    # Left off while what is stored already is being counted.
    assert do_next(collection, lambda: left(collection, job_id) != FILES + 1 and next(asked) > 2)
    stored = collection.repository.counts().images
    assert 0 < stored < FILES
    assert left(collection, job_id) == FILES + 1 - stored
    delete_image(collection, "i0")
    delete_image(collection, f"i{stored - 1}")
    assert do_next(collection, never)
    job = collection.repository.jobs.get(job_id)
    assert (job.state, job.total, job.done, job.failed) == ("done", FILES + 1, FILES, 1)
    assert job.detail == (
        f"Added {FILES - stored} pictures; 0 were there already. {stored} were done before it was interrupted."
    )
    assert [failure.name for failure in job_failures(collection, job_id)] == [f"{FILES}.png"]
    assert collection.repository.counts().images == FILES - 2
    assert left(collection, job_id) is None


@pytest.mark.parametrize("collection", ["folder"], indirect=True)
@pytest.mark.parametrize("name", ["list.json", "000030"])
def test_a_disk_that_fails_for_a_moment_is_waited_for(
    collection: Collection, draw: Draw, name: str, tmp_path: Path
) -> None:
    job_id = upload(collection, draw)
    file = tmp_path / "data" / "spool" / job_id / name
    aside = file.rename(tmp_path / "aside")
    file.symlink_to(name)  # a circle
    with pytest.raises(StoreUnavailable, match="uploaded file"):
        do_next(collection, never)
    file.unlink()
    aside.rename(file)
    assert do_next(collection, never)
    job = collection.repository.jobs.get(job_id)
    assert (job.state, job.done, job.failed) == ("done", FILES, 0)


@pytest.mark.parametrize("how", ["DELETE", "age"])
def test_files_of_a_job_that_failed_are_kept_until_it_is_forgotten(
    collection: Collection, draw: Draw, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = upload(collection, draw)
    with monkeypatch.context() as patch:
        patch.setattr("app.jobs.pictures.ingest", None)  # a surprise
        assert do_next(collection, never)
    assert collection.repository.jobs.get(job_id).state == "failed"
    discard_strays(collection)
    assert left(collection, job_id) == FILES
    if how == "DELETE":
        assert cancel_job(collection, job_id).state == "failed"
    else:
        collection.job_retention -= collection.job_retention
        forget_old_jobs(collection)
    assert left(collection, job_id) is None


@pytest.mark.parametrize("state", ["done", "cancelled", "running", "waiting"])
def test_a_start_removes_what_no_job_needs(collection: Collection, draw: Draw, state: str) -> None:
    job_id = upload(collection, draw)
    jobs, now = collection.repository.jobs, datetime.now(UTC)
    if state in ("done", "running"):
        jobs.start(job_id, "runner", now)
    if state == "done":
        jobs.finish(job_id, "runner", "done", JobProgress(), now)
    elif state == "cancelled":
        jobs.cancel(job_id, now)
    discard_strays(collection)
    assert left(collection, job_id) == (FILES if state in ("running", "waiting") else None)


def test_files_that_no_job_came_to_need_are_removed(
    collection: Collection, draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once where nobody else can be uploading them, else when a replica that does would long have ended."""
    collection.spool.write("stray", [BatchFile("a.png", io.BytesIO(draw(1)))])
    discard_strays(collection)
    if isinstance(collection.spool, SharedSpool):
        assert left(collection, "stray") == 1
        monkeypatch.setattr("app.store.shared_spool.STRAY_AFTER_S", -60.0)
        discard_strays(collection)
    assert left(collection, "stray") is None


def test_while_files_come_from_elsewhere_a_job_can_be_left_off(collection: Collection, draw: Draw) -> None:
    job_id = upload(collection, draw)
    brought: list[int] = []
    with collection.spool.reading(job_id, lambda: brought.append(1)) as kept:
        assert [file.name for file in kept.files] == [f"{seed}.png" for seed in range(FILES)]
    if isinstance(collection.spool, SharedSpool):
        assert len(brought) == FILES
        asked = itertools.count()
        assert do_next(collection, lambda: next(asked) == 10)
        assert collection.repository.jobs.get(job_id).state == "running"
    else:
        assert not brought
    assert left(collection, job_id) == FILES


def test_files_of_a_job_that_is_cancelled_while_it_waits_for_trouble_to_end_go(
    start: Start, draw: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_PAUSE_S", 0.1)
    with start() as client:
        blobs = tmp_path / "data" / "blobs"
        if blobs.exists():
            blobs.rename(tmp_path / "aside")
        blobs.write_text("in the way of the folder")
        files = [("files", (f"{seed}.png", draw(seed))) for seed in range(65)]
        job = client.post("/v1/images/batch", files=files).json()
        url = f"/v1/jobs/{job['id']}"
        wait_for(lambda: "waits until" in (client.get(url).json()["detail"] or ""))
        assert client.delete(url).json()["state"] == "cancelled"
        wait_for(lambda: not any((tmp_path / "data" / "spool").iterdir()))
        blobs.unlink()
