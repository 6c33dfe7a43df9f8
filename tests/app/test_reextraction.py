"""Another backbone takes over: features of all images extracted again, everything switched together."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.api.errors import ROWS
from app.services.gathering import CODES
from embedding.backbone import Backbone
from embedding.model_file import Model
from tests.app.conftest import Draw, Start
from tests.app.jobs import failures, finished
from tests.app.other_backbone import NAME, load_other, other_model, write_weights
from tests.app.searching import by_image, distances, embeddings, found

Add = Callable[..., dict[str, Any]]
COUNT = 20  # images: two batches


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_weights(tmp_path_factory.mktemp("weights"), 0)


@pytest.fixture(scope="module")
def other(weights: Path) -> Backbone:
    return load_other(weights, 0)


@pytest.fixture(scope="module")
def next_model(other: Backbone) -> Model:
    return other_model(other)


def fill(client: TestClient, add: Add) -> None:
    for seed in range(COUNT):
        add(client, seed, id=f"i{seed:02}")


def send(client: TestClient, model: Model) -> None:
    assert client.post("/v1/models", files={"file": model.to_bytes()}).status_code == 201


def activate(client: TestClient, model: Model) -> dict[str, Any]:
    """The job when it is over."""
    answer = client.post(f"/v1/models/{model.version}/activate")
    assert answer.status_code == 202, answer.text
    return finished(client, answer.json())


def check_searches(client: TestClient, model: Model) -> None:
    """They find what a brute force over the stored features finds."""
    points = embeddings(client, model)
    for image_id in ("i00", "i07"):
        expected = [each for each in distances(points, points[image_id]) if each[0] != image_id]
        assert found(client, by_image(image_id, k=5)) == expected[:5]


def stored_features(client: TestClient) -> Any:
    images = client.app.state.collection.repository.images  # type: ignore[attr-defined]
    return images.features_of(images.keys().seqs.tolist()).features


def test_there_and_back(
    start: Start, add: Add, draw: Draw, weights: Path, other: Backbone, model: Model, next_model: Model
) -> None:
    with start(backbone_weights=weights) as client:
        fill(client, add)
        query_id = client.post("/v1/search", files={"file": draw(99)}).json()["query_id"]
        pairs = [
            {"left": "i00", "right": "i01", "similar": True},
            {"left": "i00", "right": query_id, "similar": False},
        ]
        client.post("/v1/feedback", json={"pairs": pairs})
        before = stored_features(client)
        send(client, next_model)
        job = activate(client, next_model)
        assert (job["kind"], job["state"], job["done"], job["failed"]) == ("reextract", "done", COUNT, 0)
        assert "1 uploaded queries" in job["detail"]
        assert "1 verdicts" in job["detail"]
        assert client.get("/readyz").json()["model"] == next_model.version
        check_searches(client, next_model)
        decoded = client.app.state.collection.extractor.decode(draw(3))  # type: ignore[attr-defined]
        assert stored_features(client)[3] == pytest.approx(other.features_of([decoded.pixels])[0], abs=1e-3)
        assert [json.loads(line)["right"] for line in client.get("/v1/feedback").text.splitlines()] == ["i01"]
        assert client.get("/v1/stats").json()["queries"] == 0
        add(client, 50, id="later")
        same = client.post("/v1/search", files={"file": draw(50)}, data={"k": "1"}).json()
        assert [(each["id"], each["squared_distance"]) for each in same["neighbours"]] == [("later", 0.0)]
    with start(model=None, backbone_weights=weights) as client:  # the setting still names the default backbone
        assert client.get("/readyz").json()["model"] == next_model.version
        check_searches(client, next_model)
        job = activate(client, model)
        assert (job["kind"], job["state"], job["done"]) == ("reextract", "done", COUNT + 1)
        check_searches(client, model)
        assert np.allclose(stored_features(client)[:COUNT], before, rtol=2e-3, atol=1e-3)


def test_a_backbone_that_is_not_at_hand_is_refused_at_once(
    start: Start, add: Add, tmp_path: Path, model: Model, next_model: Model
) -> None:
    other_weights = write_weights(tmp_path / "weights", 1)
    for weights, reason in ((None, "not on this machine"), (other_weights, "weights_sha256 is")):
        with start(backbone_weights=weights) as client:
            client.post("/v1/models", files={"file": next_model.to_bytes()})
            answer = client.post(f"/v1/models/{next_model.version}/activate")
            assert (answer.status_code, answer.json()["code"]) == (409, "model_mismatch")
            assert "SAMEKIND_BACKBONE_WEIGHTS" in answer.json()["detail"]
            assert NAME.replace(":", "-") in answer.json()["detail"]
            assert reason in answer.json()["detail"]
            assert client.get("/v1/jobs").json()["jobs"] == []
            assert client.get("/readyz").json()["model"] == model.version


def test_originals_that_are_gone_change_nothing_and_are_named(
    start: Start, add: Add, weights: Path, tmp_path: Path, model: Model, next_model: Model
) -> None:
    with start(backbone_weights=weights) as client:
        fill(client, add)
        before = stored_features(client)
        sha256 = client.get("/v1/images/i05").json()["sha256"]
        (path,) = [each for each in (tmp_path / "data" / "blobs").rglob(f"*{sha256}*") if each.is_file()]
        path.unlink()
        send(client, next_model)
        job = activate(client, next_model)
        assert (job["state"], job["done"], job["failed"]) == ("failed", COUNT - 1, 1)
        assert "1 images" in job["detail"]
        assert "delete" in job["detail"]
        assert failures(client, job) == {"i05": "file_missing"}
        assert client.get("/readyz").json()["model"] == model.version
        assert np.array_equal(stored_features(client), before)
        check_searches(client, model)
        assert client.delete("/v1/images/i05").status_code == 204
        job = activate(client, next_model)
        assert (job["state"], job["done"]) == ("done", COUNT - 1)
        check_searches(client, next_model)


def test_an_empty_collection(start: Start, add: Add, weights: Path, next_model: Model) -> None:
    with start(model=None, backbone_weights=weights) as client:
        send(client, next_model)
        assert activate(client, next_model)["state"] == "done"
        fill(client, add)
        check_searches(client, next_model)


def test_failures_are_called_as_the_api_calls_them() -> None:
    assert {kind: ROWS[kind].code for kind in CODES} == CODES
