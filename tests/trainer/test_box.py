from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from PIL import Image

from embedding.errors import BadImage
from trainer.box import Box, cut_out, name_of

PIXELS = np.arange(7 * 9, dtype=np.uint8).reshape(7, 9)
corners = st.integers(-12, 12)


@given(corners, corners, corners, corners)
def test_a_box_is_the_pixels_that_it_shares_with_the_picture(left: int, top: int, right: int, bottom: int) -> None:
    kept = [[PIXELS[y, x] for x in range(9) if left <= x < right] for y in range(7) if top <= y < bottom]
    box = Box(left, top, right, bottom)
    if kept and kept[0]:
        np.testing.assert_array_equal(np.asarray(cut_out(Image.fromarray(PIXELS), box)), kept)
    else:
        with pytest.raises(BadImage, match="which is 9 x 7"):
            cut_out(Image.fromarray(PIXELS), box)


def test_without_a_box_the_picture_is_whole() -> None:
    picture = Image.fromarray(PIXELS)
    assert cut_out(picture, None) is picture


def test_a_name_tells_boxes_apart(tmp_path: Path) -> None:
    assert name_of((tmp_path / "group.jpg", None)) == "group.jpg"
    assert name_of((tmp_path / "group.jpg", Box(10, 20, 50, 90))) == "group.jpg (10, 20)-(50, 90)"
