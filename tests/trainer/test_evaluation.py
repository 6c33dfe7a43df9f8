from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedding.metric import l1_normalised
from trainer import evaluation
from trainer.errors import BadDataset
from trainer.evaluation import (
    all_pairs,
    mean_precision_at_k,
    mean_precisions,
    nearest_others,
    pair_auc,
    squared_distances,
)
from trainer.membership import Membership
from trainer.sampling import PairIndices


def reference_mprec(vectors: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], k: int) -> float:
    """The protocol, query by query."""
    by_class: dict[int, list[float]] = {}
    for query in range(len(vectors)):
        others = [i for i in range(len(vectors)) if i != query]
        others.sort(key=lambda i: (float(((vectors[i].astype(float) - vectors[query]) ** 2).sum()), i))
        top = others[:k]
        by_class.setdefault(int(labels[query]), []).append(float(np.mean([labels[i] == labels[query] for i in top])))
    return float(np.mean([np.mean(values) for values in by_class.values()]))


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(3, 25))
def test_mprec_equals_the_protocol_read_aloud(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.integers(0, 3, (n, 2)).astype(np.float32)  # coarse, so that there are many ties
    labels = rng.integers(0, 4, n)
    assert mean_precision_at_k(vectors, labels, k) == pytest.approx(reference_mprec(vectors, labels, k))


def test_blocks_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(40, 3)).astype(np.float32), rng.integers(0, 3, 40)
    whole = mean_precision_at_k(vectors, labels, 5)
    monkeypatch.setattr(evaluation, "_BLOCK_ELEMENTS", 120)
    assert mean_precision_at_k(vectors, labels, 5) == whole


def test_classes_weigh_the_same_whatever_their_size() -> None:
    # Class 0: eight copies in one place (all right). Class 1: two images far from each other, each beside class 0.
    vectors = np.array([[0.0]] * 8 + [[-1.0], [1.0]], np.float32)
    labels = np.array([0] * 8 + [1] * 2)
    assert mean_precision_at_k(vectors, labels, 1) == 0.5


def test_far_from_the_origin_distances_do_not_cancel() -> None:
    rng = np.random.default_rng(1)
    vectors, labels = rng.normal(size=(60, 4)).astype(np.float32), rng.integers(0, 3, 60)
    shifted = (vectors + np.float32(64)).astype(np.float32)
    assert mean_precision_at_k(shifted, labels, 5) == pytest.approx(reference_mprec(shifted, labels, 5))


def test_pair_auc_by_hand() -> None:
    similar = np.array([True, True, False, False])
    assert pair_auc(np.array([0.1, 0.2, 0.3, 0.4], np.float32), similar) == 1
    assert pair_auc(np.array([0.1, 0.3, 0.2, 0.4], np.float32), similar) == 0.75


def test_squared_distances_by_hand() -> None:
    pairs = PairIndices(np.array([0]), np.array([1]), np.array([True]))
    assert squared_distances(np.array([[0, 0], [3, 4]], np.float32), pairs) == [25]


def test_all_pairs_are_all() -> None:
    pairs = all_pairs(np.array([0, 0, 1]))
    assert (pairs.left.tolist(), pairs.right.tolist()) == ([0, 0, 1], [1, 2, 2])
    assert pairs.similar.tolist() == [True, False, False]


def test_copies_are_ties_whatever_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of random floats at many positions: a matrix product rounds them apart, their rank must not show it."""
    rng = np.random.default_rng(2)
    originals = rng.normal(size=(12, 64)).astype(np.float32)
    vectors = originals[rng.integers(12, size=90)]
    labels = rng.integers(0, 5, 90)
    monkeypatch.setattr(evaluation, "_BLOCK_ELEMENTS", 1000)
    for k in (1, 3, 7):
        assert mean_precision_at_k(vectors, labels, k) == pytest.approx(reference_mprec(vectors, labels, k))


def test_the_only_image_of_a_class_scores_nothing() -> None:
    assert mean_precision_at_k(np.array([[0.0], [0.1], [5.0]], np.float32), np.array([0, 0, 1]), 1) == 0.5


def test_one_image_cannot_be_measured() -> None:
    with pytest.raises(BadDataset, match="got 1 images"):
        mean_precision_at_k(np.zeros((1, 2), np.float32), np.array([0]), 1)


def test_several_k_come_from_one_ranking() -> None:
    rng = np.random.default_rng(3)
    vectors, labels = rng.normal(size=(30, 3)).astype(np.float32), rng.integers(0, 3, 30)
    found = mean_precisions(nearest_others(vectors, 40), labels, [1, 5, 29, 40])
    assert found == {k: pytest.approx(mean_precision_at_k(vectors, labels, k)) for k in (1, 5, 29, 40)}


@pytest.mark.parametrize("distance", ["l1", "chi2"])
def test_other_distances_equal_their_formulas(distance: Literal["l1", "chi2"]) -> None:
    rng = np.random.default_rng(4)
    vectors = l1_normalised((rng.exponential(size=(25, 9)) * (rng.random((25, 9)) > 0.3)).astype(np.float32))
    wide = vectors.astype(float)
    difference, total = wide[:, None] - wide, wide[:, None] + wide
    terms = abs(difference) if distance == "l1" else difference**2 / np.where(total > 0, total, 1)
    distances = terms.sum(-1)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(nearest_others(vectors, 6, distance), np.argsort(distances, 1)[:, :6])


def test_an_image_of_two_classes_counts_in_both() -> None:
    """In the head: on a line, a cat, a cat with a dog, a dog, and a bird far away."""
    vectors = np.array([[0.0], [1.0], [2.1], [9.0]], np.float32)
    known = Membership.of(["cat", "cat|dog", "dog", "bird"])
    # The nearest other: cat -> cat|dog right, cat|dog -> cat right, dog -> cat|dog right, bird -> dog wrong.
    assert mean_precision_at_k(vectors, known, 1) == pytest.approx((0 + 1 + 1) / 3)
    # The two nearest: cat 1/2, cat|dog 2/2, dog 1/2, bird 0: cats (1/2 + 1) / 2, dogs (1 + 1/2) / 2.
    assert mean_precision_at_k(vectors, known, 2) == pytest.approx((0 + 0.75 + 0.75) / 3)


@given(st.integers(0, 1000))
def test_one_class_each_is_the_same_either_way(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, labels = rng.normal(size=(20, 2)).astype(np.float32), rng.integers(0, 4, 20)
    members = Membership(labels[:, None] == np.arange(5))  # the last class has no image
    assert mean_precision_at_k(vectors, members, 3) == pytest.approx(mean_precision_at_k(vectors, labels, 3))
