"""A large JPEG is decoded at a reduced scale; the service tells of it as of the whole picture."""

import io

import numpy as np
import pytest
from PIL import Image

from app.extractor import BackboneExtractor, make_extractor
from app.records import Box
from embedding.backbone import Backbone
from embedding.image import ImageLimits, decode_image
from tests.awkward.colours import turned

PHOTO = turned("JPEG", 6, Image.radial_gradient("L").resize((2401, 3203)).convert("RGB"), quality=90)
RIGHT_HALF = Box(0.5, 0.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def extractor(backbone: Backbone) -> BackboneExtractor:
    return make_extractor(backbone, ImageLimits())


def test_size_and_thumbnail_are_those_of_the_whole_picture(extractor: BackboneExtractor) -> None:
    picture = extractor.decode(PHOTO, thumbnail=True)
    assert (picture.width, picture.height) == (2401, 3203)
    with Image.open(io.BytesIO(picture.thumbnail or b"")) as thumbnail:
        assert thumbnail.size == (240, 320)


def test_a_picture_gives_the_same_input_with_and_without_a_thumbnail(extractor: BackboneExtractor) -> None:
    added, asked = extractor.decode(PHOTO, thumbnail=True), extractor.decode(PHOTO)
    np.testing.assert_array_equal(added.pixels, asked.pixels)


def test_a_crop_is_where_it_is_in_the_whole_picture(extractor: BackboneExtractor) -> None:
    half = decode_image(PHOTO).crop((1200, 0, 2401, 3203))
    pixels = extractor.decode(PHOTO, crop=RIGHT_HALF).pixels.astype(int)
    assert np.abs(pixels - extractor.backbone.preprocessing.pixels(half)).mean() <= 1
    assert np.abs(pixels - extractor.decode(PHOTO).pixels).mean() > 10
