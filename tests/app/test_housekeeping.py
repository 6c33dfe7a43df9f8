"""What is done once in a while: files that nobody names go, and nothing of what was deleted stays."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.errors import StoreUnavailable
from app.services.collection import Collection
from app.services.housekeeping import YOUNG_S, Swept, keep_house, sweep
from app.services.indexing import reconcile
from app.settings import Settings
from app.store.blobs import FsspecBlobs
from app.store.opened import open_store
from tests.app.conftest import Draw, Start
from tests.app.jobs import wait_for
from tests.app.models import active_of

Add = Callable[..., dict[str, Any]]


def collection_of(client: TestClient) -> Collection:
    collection: Collection = client.app.state.collection  # type: ignore[attr-defined]
    return collection


def files(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "data" / "blobs").rglob("*") if path.is_file()}


def left_behind(tmp_path: Path, name: str, age_s: float = 2 * YOUNG_S) -> Path:
    """A file in the blob store as a killed writer leaves it."""
    path = tmp_path / "data" / "blobs" / name.lstrip(".")[:2] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"left behind")
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def test_files_go_with_their_images_however_many_at_once(start: Start, add: Add, tmp_path: Path) -> None:
    with start() as client:
        for seed in range(8):
            add(client, seed, id=f"i{seed}")
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda seed: client.delete(f"/v1/images/i{seed}").status_code, range(8)))
        assert answers == [204] * 8
        assert files(tmp_path) == set()


def test_a_deletion_that_failed_is_over(
    start: Start, add: Add, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every addition from then on would put its files twice."""
    with start() as client:
        add(client, 1, id="i1")
        collection = collection_of(client)

        def fail(_blobs: FsspecBlobs, _name: str) -> None:
            raise StoreUnavailable("Planted.")

        with monkeypatch.context() as planted:
            planted.setattr(FsspecBlobs, "delete", fail)
            assert client.delete("/v1/images/i1").status_code == 204
        counts = collection.file_deletion.counts()
        assert counts.begun == counts.ended > 0
        assert sweep(collection) == Swept(files=2, partial=0)


def test_a_sweep_removes_what_no_image_names_and_nothing_else(start: Start, add: Add, tmp_path: Path) -> None:
    with start() as client:
        add(client, 1, id="kept")
        before = files(tmp_path)
        left_behind(tmp_path, "ab" + "0" * 62)
        left_behind(tmp_path, ".ab" + "0" * 62 + ".1234.partial")
        foreign = left_behind(tmp_path, "README")
        assert sweep(collection_of(client)) == Swept(files=1, partial=1)
        assert sweep(collection_of(client)) == Swept(files=0, partial=0)
        assert files(tmp_path) == before | {foreign.name}
        assert client.get("/v1/images/kept/file").status_code == 200


def test_what_is_young_may_be_about_to_be_named(start: Start, tmp_path: Path) -> None:
    with start() as client:
        young = left_behind(tmp_path, "cd" + "0" * 62, age_s=0)
        keep_house(collection_of(client), started=time.time() - 3600, stopped=lambda: False)
        assert young.is_file()
        keep_house(collection_of(client), started=time.time() + 1, stopped=lambda: False)  # of a former process
        assert not young.is_file()


def test_a_start_removes_what_a_crash_left(start: Start, add: Add, tmp_path: Path) -> None:
    with start() as client:
        add(client, 1)
    orphan = left_behind(tmp_path, "ef" + "0" * 62, age_s=1)
    with start():
        wait_for(lambda: not orphan.is_file())


def test_nothing_of_a_deleted_image_stays_on_disk(start: Start, add: Add, tmp_path: Path) -> None:
    """Not in the database's free pages, not in its log, not in the index snapshot."""
    with start() as client:
        add(client, 1, id="stays")
        features = collection_of(client).repository.images.features("stays").tobytes()
        add(client, 2, id="secret-id", category="secret-category", metadata='{"secret": "secret-value"}')
        secret = collection_of(client).repository.images.features("secret-id").tobytes()
    before = contents(tmp_path)
    assert all(word in before for word in (b"secret-id", b"secret-category", b"secret-value", secret[:200]))
    with start() as client:
        assert client.delete("/v1/images/secret-id").status_code == 204
        wait_for(lambda: not any(word in kept_by(client, tmp_path) for word in (b"secret-", secret[:200])))
        assert features[:200] in contents(tmp_path)
        assert len(files(tmp_path)) == 2


def kept_by(client: TestClient, tmp_path: Path) -> bytes:
    """What lies there after housekeeping. Beside the pass of the start, which may write what it read before, one may
    not be enough."""
    keep_house(collection_of(client), time.time(), stopped=lambda: False)
    return contents(tmp_path)


def contents(tmp_path: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((tmp_path / "data").rglob("*")) if path.is_file())


def test_while_files_are_copied_none_is_removed_and_a_sweep_follows(start: Start, tmp_path: Path) -> None:
    with start() as client:
        orphan = left_behind(tmp_path, "ab" + "0" * 62)
        collection = collection_of(client)
        with open_store(Settings(data_dir=tmp_path / "data").places) as store, store.file_deletion.paused():
            assert sweep(collection) is None
        assert orphan.is_file()
        assert collection.sweep_soon.is_set()


def test_two_pictures_with_one_thumbnail_share_it(start: Start, draw: Draw, tmp_path: Path) -> None:
    """The same pixels in two files: a thumbnail goes with the last image that has it."""
    with start() as client:
        for compression in (0, 9):
            data = draw(1, compress_level=compression)
            client.post("/v1/images", files={"file": data}, data={"id": f"i{compression}"})
        assert len(files(tmp_path)) == 3
        client.delete("/v1/images/i0")
        assert client.get("/v1/images/i9/thumbnail").status_code == 200
        client.delete("/v1/images/i9")
        assert files(tmp_path) == set()


def test_a_picture_that_is_anothers_thumbnail_outlives_it(start: Start, draw: Draw) -> None:
    with start() as client:
        client.post("/v1/images", files={"file": draw(1, size=(500, 400))}, data={"id": "large"})
        small = client.get("/v1/images/large/thumbnail").content
        assert client.post("/v1/images", files={"file": small}, data={"id": "small"}).status_code == 201
        client.delete("/v1/images/large")
        assert client.get("/v1/images/small/file").content == small


def test_an_index_that_differs_is_put_right(start: Start, add: Add, caplog: pytest.LogCaptureFixture) -> None:
    """As if a change had failed between database and index."""
    with start() as client:
        for seed in range(3):
            add(client, seed, id=f"i{seed}")
        collection = collection_of(client)
        active = active_of(collection)
        assert reconcile(collection, active) == 0
        active.index.add(np.array([77]), np.zeros((1, active.index.embedding_dim), np.float32))
        assert reconcile(collection, active) == 1
        active.index.remove(np.array([1, 2]))
        assert reconcile(collection, active) == 2
        assert "differed from the database in 2 images" in caplog.text
        active.index.remove(np.array([1]))
        active.index.add(np.array([77]), np.zeros((1, active.index.embedding_dim), np.float32))
        assert reconcile(collection, active) == 2  # as many as there should be, but others
        found = client.post("/v1/search", json={"by": "image", "image_id": "i2", "k": 9}).json()["neighbours"]
        assert {n["id"] for n in found} == {"i0", "i1"}


def test_a_fault_of_one_turn_ends_neither_the_thread_nor_the_service(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with start(housekeeping_interval_s=1) as client:
        collection = collection_of(client)
        blobs = collection.blobs
        collection.blobs = None  # type: ignore[assignment]  # a bug of ours
        wait_for(lambda: "Housekeeping could not be done" in caplog.text)
        collection.blobs = blobs
        orphan = left_behind(tmp_path, "ab" + "0" * 62)
        wait_for(lambda: not orphan.is_file())
        assert client.get("/readyz").status_code == 200
