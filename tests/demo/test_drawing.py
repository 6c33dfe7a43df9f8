from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from demo.drawing import CATEGORIES, draw, draw_collection


@pytest.mark.parametrize("category", CATEGORIES)
def test_pictures_differ_by_seed_and_repeat_with_it(category: str) -> None:
    first, again, other = (np.asarray(draw(category, np.random.default_rng(seed))) for seed in (1, 1, 2))
    assert first.shape == (256, 256, 3)
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.5
    assert first.std() > 5, "there is something on it"


def test_a_collection_is_class_folders_and_is_drawn_once(tmp_path: Path) -> None:
    assert len(CATEGORIES) >= 12
    assert draw_collection(tmp_path, 2) == 2 * len(CATEGORIES)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(CATEGORIES)
    assert draw_collection(tmp_path, 3) == len(CATEGORIES)
    with Image.open(tmp_path / "star" / "002.jpg") as picture:
        assert picture.format == "JPEG"
    assert not list(tmp_path.rglob("*.partial"))
