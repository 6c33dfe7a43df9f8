"""/readyz says yes only if every part that requests need does its work, says which one does not, and never hangs."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from starlette.testclient import TestClient

from app.index.faiss_index import FaissIndex
from app.main import create_app
from app.settings import Settings
from app.store.blobs import FsspecBlobs
from embedding.backbone import Backbone
from embedding.model_file import Model
from embedding.untrained import untrained_model
from tests.app.conftest import BASE_URL, Draw, Start
from tests.app.test_hostile_input import assert_problem
from tests.postgresql import Server

Add = Callable[..., dict[str, Any]]


def assert_not_ready(client: TestClient, check: str, why: str) -> None:
    """All checks are well but that one."""
    response = client.get("/readyz")
    body = assert_problem(response, 503, "not_ready")
    assert response.headers["retry-after"] == "5"
    assert [name for name, result in body["checks"].items() if not result["ok"]] == [check]
    assert why in body["checks"][check]["why"]
    assert f"{check}: " in body["detail"]


def test_alive_before_ready(tmp_path: Path, model: Model, start: Start) -> None:
    not_started = TestClient(create_app(Settings(data_dir=tmp_path)), base_url=BASE_URL)
    assert not_started.get("/healthz").json() == {"status": "ok"}
    response = not_started.get("/readyz")
    assert_problem(response, 503, "not_ready")
    assert response.headers["retry-after"] == "5"
    with start() as client:
        well = {"ok": True, "why": None}
        checks = {"database": well, "blobs": well, "extractor": well, "index": well}
        about = {"status": "ready", "model": model.version, "trained": True}
        assert client.get("/readyz").json() == about | {"checks": checks}
    assert client.get("/readyz").status_code == 503  # and after it has stopped


def test_who_asks_for_no_body_gets_none(tmp_path: Path, start: Start) -> None:
    not_started = TestClient(create_app(Settings(data_dir=tmp_path)), base_url=BASE_URL)
    assert not_started.head("/readyz").status_code == 503
    with start(model=None) as client:
        assert [client.head(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]


def test_not_while_it_stops(start: Start) -> None:
    with start() as client:
        client.app.state.is_stopping = lambda: True  # type: ignore[attr-defined]
        assert "stopping" in assert_problem(client.get("/readyz"), 503, "not_ready")["detail"]
        assert client.get("/healthz").status_code == 200


def test_a_database_that_hangs(start: Start, postgresql: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.api.readiness._TIMEOUT_S", 1.0)
    url = postgresql.new_database()
    with start(database_url=url) as client:
        engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as other:
            other.execute(text("LOCK TABLE images IN ACCESS EXCLUSIVE MODE"))
            for _ in range(3):  # answered while the lock is held
                assert_not_ready(client, "database", "did not answer within 1 s")
            assert client.get("/healthz").status_code == 200
        engine.dispose()
        assert client.get("/readyz").status_code == 200


def test_blobs_that_cannot_be_reached(start: Start, add: Add, tmp_path: Path) -> None:
    with start() as client:
        add(client, 1)
        blobs = tmp_path / "data" / "blobs"
        shutil.move(blobs, tmp_path / "away")
        blobs.write_bytes(b"")  # root may do anything with a folder, but not this
        assert_not_ready(client, "blobs", "blob store does not answer")
        blobs.unlink()
        shutil.move(tmp_path / "away", blobs)
        assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("url", ["memory://readiness", "file:///{}/a/b"])
def test_blobs_that_hold_nothing_yet(tmp_path: Path, url: str) -> None:
    blobs = FsspecBlobs(url.format(tmp_path))
    blobs.prepare(is_new=True)
    blobs.ping()


def test_blobs_that_are_gone(start: Start, add: Add, draw: Draw, tmp_path: Path) -> None:
    blobs = tmp_path / "data" / "blobs"
    with start() as client:
        assert client.get("/readyz").status_code == 200
        add(client, 1)
        shutil.move(blobs, tmp_path / "away")
        assert_not_ready(client, "blobs", "its folder is gone")
        assert_problem(client.post("/v1/images", files={"file": draw(2)}), 503, "store_unavailable")
    with start() as client:
        assert_not_ready(client, "blobs", "its folder is gone")
        shutil.move(tmp_path / "away", blobs)
        assert client.get("/readyz").status_code == 200
        add(client, 2)


def test_a_backbone_that_hangs(start: Start, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    """No request can make it hang, so the backbone of this test waits to be let go."""
    go_on, begun = Event(), Event()
    of_the_backbone = Backbone.features_of

    def hanging(backbone: Backbone, pixels: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return of_the_backbone(backbone, pixels)

    with start() as client:
        monkeypatch.setattr(Backbone, "features_of", hanging)
        adding = Thread(target=client.post, args=("/v1/images",), kwargs={"files": {"file": draw(1)}})
        adding.start()
        try:
            assert begun.wait(60)
            assert client.get("/readyz").status_code == 200  # busy, not stuck
            monkeypatch.setattr("app.api.readiness._STUCK_S", 0.0)
            assert_not_ready(client, "extractor", "has been waiting")
        finally:
            go_on.set()
            adding.join()
        assert client.get("/readyz").status_code == 200


def test_an_index_of_another_model(start: Start) -> None:
    with start() as client:
        collection = client.app.state.collection  # type: ignore[attr-defined]
        collection.active = replace(collection.active, index=FaissIndex(8, "another"))
        assert_not_ready(client, "index", "another")


def test_it_says_that_nothing_was_learned(start: Start, backbone: Backbone) -> None:
    with start(model=None) as client:
        found = client.get("/readyz").json()
        assert (found["model"], found["trained"]) == (untrained_model(backbone.identity).version, False)
