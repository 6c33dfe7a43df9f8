"""What is held out: by content, the same everywhere, each image once, and as much of it as can be measured on."""

import numpy as np

from tests.trainer.learning_sets import as_pairs, loud_set, set_of
from trainer.folds import folds
from trainer.learning_set import LearningSet


def test_each_known_image_is_left_out_once_and_no_other() -> None:
    data = loud_set(n=240, labelled=100)
    parts = folds(data)
    assert len(parts) == 3
    assert np.array_equal(np.sum(parts, 0), data.has_label.astype(int))
    for part in parts:
        sizes = np.bincount(data.numbers[part])
        assert sizes.min() >= 10, "every class has its share"
        assert data.without(part).learnable


def test_the_content_decides_and_nothing_else() -> None:
    """Where an image stood, and what came later, is the same to those that were there."""
    small, large = loud_set(n=60, labelled=60), loud_set(n=60, labelled=60)
    assert all(np.array_equal(one, other) for one, other in zip(folds(small), folds(large), strict=True))
    more = loud_set(n=240, labelled=60)
    there = np.array([content in set(small.digests) for content in more.digests])
    assert np.array_equal(folds(more)[0][there], folds(small)[0])


def test_of_many_one_part_is_enough() -> None:
    data = loud_set(n=1800)
    (part,) = folds(data)
    assert 340 <= part.sum() <= 380


def test_too_few_leave_nothing_out() -> None:
    assert folds(loud_set(n=5)) == []
    assert folds(loud_set(n=60, labelled=0)) == []


def both_kinds(data: LearningSet, part: np.ndarray) -> bool:
    inside, outside = data.without(part).pairs, data.within(part).pairs
    return all(len(set(pairs.similar.tolist())) == 2 for pairs in (inside, outside))


def test_images_that_verdicts_connect_are_left_out_together() -> None:
    """So that no verdict is lost between learning and measuring."""
    groups = [
        (5 * group + i, 5 * group + j, (i < 3) == (j < 3)) for group in range(40) for i in range(5) for j in range(i)
    ]
    data = set_of(np.random.default_rng(0).random((200, 4)).astype(np.float32), [None] * 200, groups)
    parts = folds(data)
    assert len(parts) == 3
    for part in parts:
        assert both_kinds(data, part)
        assert len(data.without(part).pairs) + len(data.within(part).pairs) == len(data.pairs)


def test_a_web_of_verdicts_is_cut_apart() -> None:
    data = as_pairs(loud_set(n=120), 2000)
    for part in folds(data):
        assert both_kinds(data, part)
        assert 30 <= part.sum() <= 50
