"""GET /v1/training-set: all that a metric can be learned from, and nothing that is half there."""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app.parts import open_collection
from app.records import CountingVerdict, Marks, NewImage, StoredImage
from app.services.collection import Collection
from app.services.feedback import record_feedback
from app.services.images import delete_image
from app.services.training_set import training_set
from app.settings import Settings
from app.store.database import open_database
from embedding.backbone import Backbone
from embedding.backbone_identity import BackboneIdentity
from embedding.pairs import Pair
from tests.app.conftest import Draw, Start

Add = Callable[..., dict[str, Any]]
URL = "/v1/training-set"


def lines(client: TestClient) -> list[dict[str, Any]]:
    answer = client.get(URL)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def collection_of(client: TestClient) -> Collection:
    collection: Collection = client.app.state.collection  # type: ignore[attr-defined]
    return collection


def test_nothing_yet(start: Start, backbone: Backbone) -> None:
    with start(model=None) as client:
        (header,) = lines(client)
    assert BackboneIdentity.from_json(header.pop("backbone")) == backbone.identity
    assert header == {
        "format": 2, "feature_dim": 1280, "images": 0, "queries": 0, "pairs": 0, "last_pair": 0, "last_category": 0,
        "last_undo": 0,
    }  # fmt: skip


def test_images_queries_and_pairs(start: Start, add: Add, draw: Draw) -> None:
    with start() as client:
        for seed in range(3):
            add(client, seed, id=f"i{seed}", category="odd" if seed % 2 else "")
        named, _ = (client.post("/v1/search", files={"file": draw(seed)}).json()["query_id"] for seed in (8, 9))
        for similar in (True, False):  # the latest counts
            verdicts = [
                {"left": "i2", "right": "i0", "similar": similar},
                {"left": named, "right": "i1", "similar": True},
            ]
            client.post("/v1/feedback", json={"pairs": verdicts})
        header, *rest = lines(client)
        assert (header["images"], header["queries"], header["pairs"]) == (3, 1, 2)
        images, queries, pairs = rest[:3], rest[3:4], rest[4:]
        assert [(each["id"], each["category"]) for each in images] == [("i0", None), ("i1", "odd"), ("i2", None)]
        assert [sorted(each) for each in queries] == [["features", "id"]]
        assert queries[0]["id"] == named
        assert {"left": "i0", "right": "i2", "similar": False, "seq": 3} in pairs
        assert {"left": "i1", "right": named, "similar": True, "seq": 2} in pairs
        assert (header["last_pair"], header["last_category"], header["last_undo"]) == (3, 1, 0)
        assert [each["sha256"] for each in images] == [hashlib.sha256(draw(seed)).hexdigest() for seed in range(3)]
        for each in images:
            features = np.frombuffer(base64.b64decode(each["features"]), "<f2")
            assert np.array_equal(features, collection_of(client).repository.images.features(each["id"]))
        client.delete("/v1/images/i1")
        header, *rest = lines(client)
        assert (header["images"], header["queries"], header["pairs"]) == (2, 0, 1)
        assert len(rest) == 3


def test_it_is_the_state_of_the_instant_at_which_it_was_asked_for(start: Start, add: Add) -> None:
    with start() as client:
        for seed in range(4):
            add(client, seed, id=f"i{seed}")
        collection = collection_of(client)
        record_feedback(collection, [Pair("i0", "i1", similar=True), Pair("i1", "i2", similar=True)], None)
        found = training_set(collection)
        add(client, 4, id="i4")
        record_feedback(collection, [Pair("i0", "i1", similar=False), Pair("i3", "i4", similar=True)], None)
        delete_image(collection, "i2")
        images, pairs = [each.id for each in found.images], list(found.pairs)
        assert (found.image_count, found.pair_count, found.marks) == (4, 2, Marks(2, 0, 0))
        assert images == ["i0", "i1", "i3"]
        assert pairs == [CountingVerdict("i0", "i1", similar=True, seq=1)]  # both ids of each pair are there


def test_many_images_come_in_pieces(start: Start, add: Add) -> None:
    """More than are read at once; rows without files, of which none is read."""
    with start(model=None) as client:
        add(client, 1)
        collection = collection_of(client)
        (one,) = collection.repository.images.page(1)
        features = collection.repository.images.features(one.id)
        rows = [(_copy(one, number), features) for number in range(1200)]
        collection.repository.images.add_many(rows)
        _, *images = lines(client)
        assert len({each["id"] for each in images}) == 1201


def _copy(image: StoredImage, number: int) -> NewImage:
    fields = {name: value for name, value in asdict(image).items() if name not in ("seq", "updated")}
    return NewImage(**fields | {"id": f"copy-{number}", "sha256": f"{number:064x}"})


@pytest.mark.parametrize("statement", ["DROP TABLE pairs", "UPDATE images SET features = x'00'"])
def test_trouble_before_the_first_line_is_a_problem_document(
    start: Start, add: Add, tmp_path: Path, statement: str
) -> None:
    with start(model=None) as client:
        add(client, 1)
        with open_database(tmp_path / "data" / "samekind.db") as database, database.writing() as connection:
            connection.execute(text(statement))
        answer = client.get(URL)
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")


def test_a_collection_without_the_service(tmp_path: Path) -> None:
    with open_collection(Settings(data_dir=tmp_path / "data")) as collection:
        found = training_set(collection)
        assert [*found.images, *found.queries, *found.pairs] == []
