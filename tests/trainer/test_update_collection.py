"""Pulling a collection from a real service: all that is there, in arrays; of a large one a sample."""

import io
import json
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from app.client import Samekind, Upload
from embedding.backbone import Backbone
from tests.app.clients import Answer, canned
from tests.app.test_serve import serving
from tests.trainer.updates import noise
from trainer.errors import BadDataset, ServiceTrouble
from trainer.update.collection import pull

PICTURES = 12


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("update") / "data") as (_process, client):
        yield str(client.base_url)


@pytest.fixture
def client(url: str) -> Iterator[Samekind]:
    with Samekind(url) as client:
        yield client


def test_an_empty_collection_has_nothing_to_learn_from(client: Samekind) -> None:
    with pytest.raises(BadDataset, match="add images first"):
        pull(client)


def test_all_that_is_there(client: Samekind, backbone: Backbone) -> None:
    kinds = [None if i % 3 == 0 else f"kind {i % 3}" for i in range(PICTURES)]
    uploads = [Upload(noise(i), id=f"i{i}", category=kinds[i]) for i in range(PICTURES)]
    assert all(item.problem is None for item in client.add_images(uploads))
    client.give_feedback([("i1", "i0", True), ("i2", "i0", False), ("i11", "i3", True)])
    client.give_feedback([("i0", "i1", False)])  # the latest counts
    data = pull(client)
    assert dict(zip(data.ids, data.categories, strict=True)) == {f"i{i}": kinds[i] for i in range(PICTURES)}
    assert data.has_category.tolist() == [category is not None for category in data.categories]
    assert data.backbone == backbone.identity
    assert data.features.shape == (PICTURES, backbone.feature_dim)
    assert data.features.dtype == np.dtype(np.float16)
    ends = zip(data.pairs.left, data.pairs.right, data.pairs.similar, data.seqs, strict=True)
    found = {(frozenset({data.ids[i], data.ids[j]}), bool(similar)): seq for i, j, similar, seq in ends}
    assert set(found) == {
        (frozenset({"i0", "i1"}), False),
        (frozenset({"i0", "i2"}), False),
        (frozenset({"i3", "i11"}), True),
    }
    assert found[frozenset({"i0", "i1"}), False] == data.last_pair > found[frozenset({"i3", "i11"}), True] > 0


def test_features_are_those_of_the_pictures(client: Samekind, backbone: Backbone) -> None:
    data = pull(client)
    (alone,) = backbone.features([Image.open(io.BytesIO(noise(4))).convert("RGB")])
    assert np.allclose(data.features[data.ids.index("i4")].astype(np.float32), alone, atol=0.02)


def test_of_a_large_collection_a_sample_with_all_that_verdicts_name(client: Samekind) -> None:
    whole, sample = pull(client), pull(client, max_images=6)
    assert {"i0", "i1", "i2", "i3", "i11"} <= set(sample.ids)
    assert len(sample) < PICTURES
    assert (len(sample.pairs), sample.last_pair) == (3, whole.last_pair)
    kept = [whole.ids.index(image_id) for image_id in sample.ids]
    assert (sample.features == whole.features[kept]).all()
    assert pull(client, max_images=6).ids == sample.ids
    assert set(pull(client, max_images=1).ids) <= set(sample.ids)


def test_a_part_keeps_its_pairs(client: Samekind) -> None:
    data = pull(client)
    part = data.within(np.array([image_id not in {"i1", "i5"} for image_id in data.ids]))
    assert (len(part), len(part.pairs), len(part.seqs)) == (PICTURES - 2, 2, 2)
    for i, j, seq in zip(part.pairs.left, part.pairs.right, part.seqs, strict=True):
        (same,) = np.flatnonzero(data.seqs == seq)
        assert {part.ids[i], part.ids[j]} == {data.ids[data.pairs.left[same]], data.ids[data.pairs.right[same]]}
    assert (part.features[part.ids.index("i7")] == data.features[data.ids.index("i7")]).all()


def test_an_uploaded_query_is_an_image_without_category(backbone: Backbone) -> None:
    """Searching needs a model, so the stream is a made one."""
    features = "AAAAPAA4"  # 0, 1, 0.5
    identity = backbone.identity.to_json() | {"feature_dim": 3}
    header = {
        "format": 2,
        "backbone": identity,
        "feature_dim": 3,
        "images": 1,
        "queries": 1,
        "pairs": 2,
        "last_pair": 9,
    }
    lines = [
        header,
        {"id": "i", "category": "cups", "sha256": "0" * 64, "features": features},
        {"id": "q", "features": features},
        {"left": "q", "right": "i", "similar": True, "seq": 7},
        {"left": "later", "right": "i", "similar": True, "seq": 8},  # named after it was asked what verdicts name
    ]
    with (
        canned(Answer(body=b"".join(json.dumps(line).encode() + b"\n" for line in lines))) as server,
        Samekind(server.url) as client,
    ):
        data = pull(client)
    assert (data.ids, data.categories) == (["i", "q"], ["cups", None])
    assert data.features.tolist() == [[0, 1, 0.5]] * 2
    assert (data.pairs.left.tolist(), data.pairs.right.tolist(), data.seqs.tolist()) == ([1], [0], [7])
    assert data.last_pair == 7  # what was left out counts as new the next time


@pytest.mark.parametrize(
    ("change", "said"),
    [({"format": 1}, "format 2"), ({"backbone": {"name": "x"}}, "backbone"), ({"feature_dim": 4}, "3 features")],
)
def test_a_stream_that_is_not_understood(backbone: Backbone, change: dict[str, object], said: str) -> None:
    header = {"format": 2, "backbone": backbone.identity.to_json(), "feature_dim": 3, "images": 1, "queries": 0}
    lines = [header | {"pairs": 0} | change, {"id": "i", "category": None, "sha256": "0" * 64, "features": "AAAAPAA4"}]
    with (
        canned(Answer(body=b"".join(json.dumps(line).encode() + b"\n" for line in lines))) as server,
        Samekind(server.url) as client,
        pytest.raises(ServiceTrouble, match=said),
    ):
        pull(client)
