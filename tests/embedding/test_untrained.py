"""What is searched with before anybody has said anything."""

import numpy as np
import pytest

from embedding.backbone_identity import BackboneIdentity, Preprocessing
from embedding.errors import BadFeatures
from embedding.metric import l2_normalised
from embedding.model_file import model_from_bytes
from embedding.untrained import components_model, untrained_model

D = 24
PREPROCESSING = Preprocessing(224, 0.875, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), "bicubic")
BACKBONE = BackboneIdentity("efficientnet-lite0", "ab" * 32, D, PREPROCESSING)


def features(n: int) -> np.ndarray:
    return np.random.default_rng(n).exponential(size=(n, D)).astype(np.float16)


def test_one_backbone_has_one_untrained_model() -> None:
    model = untrained_model(BACKBONE)
    assert model.version == untrained_model(BACKBONE).version == model_from_bytes(model.to_bytes()).version
    assert (model.method, model.is_trained, model.calibration) == ("untrained", False, None)
    assert (model.metric.feature_dim, model.metric.embedding_dim) == (D, D)
    np.testing.assert_array_equal(model.metric.embed(features(5)), l2_normalised(features(5).astype(np.float32)))


def test_components_say_how_they_came_about() -> None:
    model = components_model(features(100), 6, BACKBONE, {"images": 100})
    assert (model.method, model.is_trained, model.metric.embedding_dim) == ("pca", False, 6)
    assert model.training == {"untrained": True, "images": 100}
    assert model.version == components_model(features(100), 6, BACKBONE, {"images": 100}).version
    assert 0 < model.b < 2


@pytest.mark.parametrize(("n", "d", "most"), [(9, 16, 8), (2, 16, 1), (100, 200, D), (100, 3, 3)])
def test_there_are_as_many_as_the_images_and_the_features_allow(n: int, d: int, most: int) -> None:
    assert components_model(features(n), d, BACKBONE, {}).metric.embedding_dim == most


@pytest.mark.parametrize("n", [0, 1])
def test_one_image_has_none(n: int) -> None:
    with pytest.raises(BadFeatures, match=f"two images at least, got {n}"):
        components_model(features(n), 2, BACKBONE, {})
