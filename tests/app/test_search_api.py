"""/v1/search, /v1/models, /v1/stats and the health endpoints over HTTP."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.errors import StoreUnavailable
from app.index.faiss_index import FaissIndex
from embedding.backbone import Backbone
from embedding.image import decode_image
from embedding.model_file import Model
from tests.app.conftest import Draw, Start

Add = Callable[..., dict[str, Any]]


def test_answers_equal_the_method_computed_by_hand(
    start: Start, add: Add, draw: Draw, backbone: Backbone, model: Model
) -> None:
    with start() as client:
        for seed in range(6):
            add(client, seed, id=f"i{seed}", category=f"c{seed}")
        answer = client.post("/v1/search", files={"file": draw(100)}, data={"k": "4"}).json()
    images = [decode_image(draw(seed)) for seed in (*range(6), 100)]
    features = np.concatenate([backbone.features([image]) for image in images])
    embeddings = model.metric.embed(features).astype(np.float64)
    squared_distances = np.square(embeddings[:6] - embeddings[6]).sum(axis=1)
    nearest = np.argsort(squared_distances)[:4]
    assert [n["id"] for n in answer["neighbours"]] == [f"i{seed}" for seed in nearest]
    assert [n["squared_distance"] for n in answer["neighbours"]] == pytest.approx(squared_distances[nearest], rel=1e-9)
    for neighbour in answer["neighbours"]:
        squared_distance = neighbour["squared_distance"]
        assert neighbour["same"] is (squared_distance < model.b)
        assert model.calibration is not None
        assert neighbour["probability"] == model.calibration.probability(squared_distance)
        assert neighbour["category"] == "c" + neighbour["id"][1:]
        assert neighbour["links"]["file"] == f"/v1/images/{neighbour['id']}/file"
    assert (answer["model"], answer["k"]) == (model.version, 4)
    assert answer["query_id"].startswith("q_")


def test_a_picture_is_at_distance_zero_from_its_own_copy(client: TestClient, add: Add, draw: Draw) -> None:
    add(client, 1, id="itself")
    add(client, 2, id="other")
    first = client.post("/v1/search", files={"file": draw(1)}, data={"k": "1"}).json()["neighbours"][0]
    assert (first["id"], first["squared_distance"], first["same"]) == ("itself", 0.0, True)


def test_a_stored_image_is_not_its_own_neighbour(client: TestClient, add: Add) -> None:
    for seed in (11, 12, 13):
        add(client, seed, id=f"n{seed}")
    answer = client.post("/v1/search", json={"by": "image", "image_id": "n11", "k": 1000}).json()
    ids = [neighbour["id"] for neighbour in answer["neighbours"]]
    assert answer["query_id"] is None
    assert "n11" not in ids
    assert {"n12", "n13"} <= set(ids)
    distances = [neighbour["squared_distance"] for neighbour in answer["neighbours"]]
    assert all(left <= right for left, right in pairwise(distances))
    assert len(client.post("/v1/search", json={"by": "image", "image_id": "n11", "k": 2}).json()["neighbours"]) == 2


def test_copies_with_other_bytes_come_in_the_order_of_addition(start: Start, draw: Draw) -> None:
    with start() as client:
        for level in (1, 9, 5):  # the same pixels, compressed to other bytes
            file = {"file": draw(1, compress_level=level)}
            assert client.post("/v1/images", files=file, data={"id": f"level-{level}"}).status_code == 201
        answer = client.post("/v1/search", files={"file": draw(1, compress_level=7)}, data={"k": "2"}).json()
        assert [(n["id"], n["squared_distance"]) for n in answer["neighbours"]] == [("level-1", 0.0), ("level-9", 0.0)]
        by_id = client.post("/v1/search", json={"by": "image", "image_id": "level-5", "k": 2}).json()
        assert [n["id"] for n in by_id["neighbours"]] == ["level-1", "level-9"]


def test_an_empty_collection_has_no_neighbours(start: Start, draw: Draw) -> None:
    with start() as client:
        assert client.post("/v1/search", files={"file": draw(1)}, data={"k": "5"}).json()["neighbours"] == []


def test_deletions_that_come_between_do_not_shorten_the_answer(start: Start, add: Add, draw: Draw) -> None:
    """The instant in a deletion when the row is gone and the index does not know yet."""
    with start() as client:
        for number in range(1, 7):  # the same picture six times: the nearest are those that were added first
            file = {"file": draw(1, dpi=(number, number))}
            assert client.post("/v1/images", files=file, data={"id": f"i{number}"}).status_code == 201
        for gone in ("i1", "i2"):
            client.app.state.collection.repository.images.delete(gone)  # type: ignore[attr-defined]
        by_upload = client.post("/v1/search", files={"file": draw(1)}, data={"k": "2"}).json()
        assert [n["id"] for n in by_upload["neighbours"]] == ["i3", "i4"]
        by_id = client.post("/v1/search", json={"by": "image", "image_id": "i3", "k": 2}).json()
        assert [n["id"] for n in by_id["neighbours"]] == ["i4", "i5"]
        everything = client.post("/v1/search", files={"file": draw(1)}, data={"k": "6"}).json()
        assert len(everything["neighbours"]) == 4


def test_an_index_of_another_model_is_not_searched(start: Start, add: Add, draw: Draw) -> None:
    with start() as client:
        add(client, 1)
        collection = client.app.state.collection  # type: ignore[attr-defined]
        collection.active = replace(collection.active, index=FaissIndex(8, "another"))
        response = client.post("/v1/search", files={"file": draw(1)}, data={"k": "1"})
        assert (response.status_code, response.json()["code"]) == (500, "internal_error")


def test_searching_goes_on_while_queries_cannot_be_kept(
    start: Start,
    add: Add,
    draw: Draw,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("app.store.engine.BUSY_TIMEOUT_S", 1)
    with start() as client:
        add(client, 1, id="there")
        with closing(sqlite3.connect(tmp_path / "data" / "samekind.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # as a backup program may
            response = client.post("/v1/search", files={"file": draw(1)}, data={"k": "1"})
        assert response.status_code == 200
        assert response.json()["query_id"] is None
        assert [n["id"] for n in response.json()["neighbours"]] == ["there"]
        assert "could not be kept" in caplog.text
        assert client.post("/v1/search", files={"file": draw(1)}, data={"k": "1"}).json()["query_id"]


def test_a_purge_that_fails_costs_nobody_an_answer(start: Start, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that comes exactly between a query and the purge is not to be had from outside."""

    def refuse(*_: object) -> int:
        raise StoreUnavailable("locked")

    with start() as client:
        monkeypatch.setattr("app.services.collection._SEARCHES_A_PURGE", 1)
        monkeypatch.setattr("app.store.queries.SqlQueries.purge", refuse)
        assert client.post("/v1/search", files={"file": draw(1)}, data={"k": "1"}).json()["query_id"]


def test_stats_count(start: Start, add: Add, draw: Draw, model: Model) -> None:
    with start() as client:
        for seed in range(3):
            add(client, seed, id=f"i{seed}")
        client.post("/v1/search", files={"file": draw(0)})
        client.post("/v1/feedback", json={"pairs": [{"left": "i0", "right": "i1", "similar": True}]})
        assert client.get("/v1/stats").json() == {
            "images": 3,
            "queries": 1,
            "pairs": 1,
            "verdicts": 1,
            "contradicted": 0,
            "new": {"verdicts": 1, "categories": 0, "undone": 0, "agreeing": 0, "total": 1},
            "model": model.version,
            "trained": True,
            "indexed": 3,
            "approximation": None,
        }


def test_models_are_listed_with_their_manifest(client: TestClient, model: Model) -> None:
    (summary,) = client.get("/v1/models").json()
    assert (summary["version"], summary["active"], summary["method"]) == (model.version, True, "nml")
    assert (summary["feature_dim"], summary["embedding_dim"], summary["b"]) == (1280, 8, 0.1)
    details = client.get(f"/v1/models/{model.version}").json()
    assert details["manifest"]["backbone"]["name"] == "efficientnet-lite0"
    assert client.get("/v1/models/none").json()["code"] == "unknown_model"
