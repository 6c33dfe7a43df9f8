import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.errors import BadDataset
from trainer.membership import Membership
from trainer.sampling import ClassBatches, PairBatches, PairIndices, draw_pairs, generator

LABELS = np.array([0] * 5 + [1] * 3 + [2] * 4 + [3])  # the last class has a single image


def test_class_batches_hold_all_pairs_of_distinct_images() -> None:
    batch = ClassBatches(LABELS, classes_per_batch=3, images_per_class=4).batch(np.random.default_rng(0))
    assert len(set(batch.rows)) == len(batch.rows)
    assert len(batch.pairs) == len(batch.rows) * (len(batch.rows) - 1) // 2
    labels = LABELS[batch.rows]
    np.testing.assert_array_equal(batch.pairs.similar, labels[batch.pairs.left] == labels[batch.pairs.right])
    assert len(set(labels)) == 3


def test_more_classes_asked_for_than_there_are() -> None:
    batch = ClassBatches(LABELS, classes_per_batch=16, images_per_class=8).batch(np.random.default_rng(0))
    assert sorted(batch.rows) == list(range(len(LABELS)))


def test_pair_batches_are_half_similar_and_point_at_the_right_rows() -> None:
    given_pairs = PairIndices(np.array([4, 4, 9]), np.array([7, 9, 7]), np.array([True, False, False]))
    batch = PairBatches(given_pairs, 100).batch(np.random.default_rng(0))
    assert set(batch.rows) <= {4, 7, 9}
    assert batch.pairs.similar.sum() == 50
    left, right = batch.rows[batch.pairs.left].tolist(), batch.rows[batch.pairs.right].tolist()
    ends = set(zip(left, right, batch.pairs.similar.tolist(), strict=True))
    assert ends == {(4, 7, True), (4, 9, False), (9, 7, False)}


@given(st.integers(0, 1000), st.lists(st.integers(1, 6), min_size=2, max_size=6).filter(lambda sizes: max(sizes) > 1))
def test_drawn_pairs_are_what_they_say(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    pairs = draw_pairs(labels, 101, rng)
    assert (pairs.left != pairs.right).all()
    np.testing.assert_array_equal(labels[pairs.left] == labels[pairs.right], pairs.similar)
    assert pairs.similar.sum() == 51


def test_drawn_pairs_reach_every_image_evenly() -> None:
    labels = np.repeat([0, 1, 2], [10, 20, 30])
    pairs = draw_pairs(labels, 60_000, np.random.default_rng(0))
    for sign in (pairs.similar, ~pairs.similar):
        counts = np.bincount(pairs.left[sign], minlength=60)
        assert counts.min() > 0.8 * counts.mean()
        for label in range(3):
            chosen = sign & (labels[pairs.left] == label)
            reached = np.bincount(pairs.right[chosen], minlength=60)
            possible = (labels == label) if pairs.similar[chosen].all() else (labels != label)
            assert (reached[possible] > 0).all()
            assert not reached[~possible].any()


@given(st.integers(0, 1000))
def test_drawn_pairs_of_several_labels_are_what_they_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.random((12, 4)) < 0.3
    matrix[:3] = [[True, False, False, False], [True, True, False, False], [False, False, True, False]]
    pairs = draw_pairs(Membership(matrix), 61, rng)
    shared = np.array([(matrix[i] & matrix[j]).any() for i, j in zip(pairs.left, pairs.right, strict=True)])
    assert (pairs.left != pairs.right).all()
    np.testing.assert_array_equal(shared, pairs.similar)
    assert pairs.similar.sum() == 31


def test_where_all_images_share_a_label_nothing_can_be_told_apart() -> None:
    with pytest.raises(BadDataset, match="share a label"):
        draw_pairs(Membership(np.ones((5, 1), bool)), 10, np.random.default_rng(0))


def test_batches_of_several_labels_hold_each_image_once() -> None:
    known = Membership(np.array([[1, 1], [1, 1], [1, 0], [0, 1], [0, 1]], bool))
    batch = ClassBatches(known, classes_per_batch=2, images_per_class=3).batch(np.random.default_rng(0))
    assert len(set(batch.rows)) == len(batch.rows)
    rows = [(batch.rows[i], batch.rows[j]) for i, j in zip(batch.pairs.left, batch.pairs.right, strict=True)]
    assert [(known.matrix[i] & known.matrix[j]).any() for i, j in rows] == batch.pairs.similar.tolist()


def test_pairs_within_a_part() -> None:
    pairs = PairIndices(np.array([0, 1, 2]), np.array([2, 2, 3]), np.array([True, False, True]))
    part = pairs.within(np.array([True, False, True, True]))
    assert (part.left.tolist(), part.right.tolist(), part.similar.tolist()) == ([0, 1], [1, 2], [True, True])


def test_every_step_has_its_own_random_numbers() -> None:
    draws = {generator(s, p, t).integers(2**62) for s in (0, 1) for p in ("validation", "final") for t in (0, 1)}
    assert len(draws) == 8
    assert generator(3, "final", 5).random() == generator(3, "final", 5).random()


def test_wrong_pairs_are_a_share_of_each_kind() -> None:
    pairs = draw_pairs(LABELS, 200, np.random.default_rng(0))
    wrong = pairs.with_wrong(0.1, np.random.default_rng(1))
    changed = wrong.similar != pairs.similar
    assert (changed[pairs.similar].sum(), changed[~pairs.similar].sum()) == (10, 10)
    np.testing.assert_array_equal(wrong.left, pairs.left)
    np.testing.assert_array_equal(pairs.with_wrong(0, np.random.default_rng(1)).similar, pairs.similar)
