"""One picture, stored in each of the eight orientations: the same features, so the same embedding."""

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.extractor import make_extractor
from embedding.backbone import Backbone
from embedding.image import ImageLimits
from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.awkward.colours import ORIENTATIONS, turned

_OPTIONS: dict[str, dict[str, Any]] = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"lossless": True}}


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP", "JPEG"])
def test_orientations_1_to_8_have_the_same_embedding(backbone: Backbone, model: Model, draw: Draw, kind: str) -> None:
    picture = Image.open(io.BytesIO(draw(1, size=(96, 64))))
    options = _OPTIONS.get(kind, {})
    extractor = make_extractor(backbone, ImageLimits())
    decoded = [extractor.decode(turned(kind, number, picture, **options)) for number in ORIENTATIONS]
    embeddings = model.metric.embed(np.asarray(extractor.features(decoded)))
    other = model.metric.embed(np.asarray(extractor.features([extractor.decode(draw(2, size=(96, 64)))])))
    assert {(each.width, each.height) for each in decoded} == {(96, 64)}
    distances = ((embeddings - embeddings[0]) ** 2).sum(axis=1)
    if kind == "JPEG":
        assert distances.max() < ((other - embeddings[0]) ** 2).sum() / 5
    else:
        assert all(np.array_equal(each.pixels, decoded[0].pixels) for each in decoded)
        assert distances.max() < 1e-9
