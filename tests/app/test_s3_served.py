"""The service with its files in an S3-compatible store."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from app.services.collection import Collection
from app.services.housekeeping import sweep
from app.store import s3 as s3_module
from tests.app.conftest import Draw, Start
from tests.app.jobs import finished, wait_for
from tests.s3 import S3

Add = Callable[..., dict[str, Any]]


def test_pictures_go_in_and_out_and_away(start: Start, add: Add, draw: Draw, s3: S3) -> None:
    with start(blobs_url=s3.new_bucket()) as client:
        collection: Collection = client.app.state.collection  # type: ignore[attr-defined]
        add(client, 1, id="a")
        add(client, 2, id="b")
        assert client.get("/v1/images/a/file").content == draw(1)
        assert client.get("/v1/images/a/thumbnail").status_code == 200
        assert sum(map(len, collection.blobs.listing())) == 4
        assert client.delete("/v1/images/a").status_code == 204
        assert sum(map(len, collection.blobs.listing())) == 2
        collection.blobs.put("0" * 64, b"named by no image")
        assert sweep(collection, before=time.time() - 3600.0) is not None
        assert collection.blobs.holds("0" * 64)
        swept = sweep(collection)
        assert swept
        assert (swept.files, swept.partial) == (1, 0)
        assert client.get("/v1/images/b/file").content == draw(2)


def test_while_the_store_is_gone_it_is_not_ready_and_jobs_wait(
    start: Start, add: Add, draw: Draw, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.worker._PAUSE_S", 0.1)
    monkeypatch.setattr(s3_module, "_AGAIN_WITHIN_S", 0.3)
    with start(blobs_url=s3.new_bucket()) as client:
        add(client, 1, id="a")
        s3.stop()
        try:
            ready = client.get("/readyz")
            assert (ready.status_code, "blob store does not answer" in ready.text) == (503, True)
            answer = client.post("/v1/images", files={"file": draw(2)})
            assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
            assert client.get("/v1/images/a/file").status_code == 503
            files = [("files", (f"{seed}.png", draw(seed))) for seed in range(65)]
            job = client.post("/v1/images/batch", files=files).json()
            wait_for(lambda: "waits until" in (client.get(f"/v1/jobs/{job['id']}").json()["detail"] or ""))
        finally:
            s3.start()
        job = finished(client, job)
        assert (job["state"], job["done"], job["failed"]) == ("done", 65, 0)
        assert client.get("/readyz").status_code == 200
        assert client.get("/v1/images/a/file").content == draw(1)
