"""One type for images with what is known of them: the same whatever order and place it comes from."""

from dataclasses import replace

import numpy as np

from embedding.metric import l1_normalised
from tests.trainer.learning_sets import digest, loud_set, set_of
from trainer.learning_set import LearningSet
from trainer.membership import Membership
from trainer.sampling import PairIndices

FEATURES = np.random.default_rng(0).random((6, 4)).astype(np.float32)
LABELS = ["cup", "cup", "plate", None, None, None]


def known(data: LearningSet) -> set[tuple[bytes, bytes, bool]]:
    pairs = data.pairs
    ends = zip(pairs.left.tolist(), pairs.right.tolist(), pairs.similar.tolist(), strict=True)
    return {(data.digests[left], data.digests[right], similar) for left, right, similar in ends}


def test_the_order_of_rows_and_of_pairs_means_nothing() -> None:
    one = set_of(FEATURES, LABELS, [(0, 3, True), (3, 4, False), (5, 1, True)])
    order = [4, 2, 0, 5, 3, 1]
    place = {old: new for new, old in enumerate(order)}
    pairs = PairIndices(
        np.array([place[1], place[4], place[3]]),
        np.array([place[5], place[3], place[0]]),
        np.array([True, False, True]),
    )
    features = FEATURES[order].astype(np.float16)
    other = LearningSet.of([digest(i) for i in order], features, [LABELS[i] for i in order], pairs)
    assert other.digests == one.digests == sorted(one.digests)
    assert (other.labels, other.fingerprint) == (one.labels, one.fingerprint)
    assert np.array_equal(other.features, one.features)
    assert np.array_equal(other.pairs.left, one.pairs.left)
    assert known(other) == known(one)
    assert len(known(one)) == 3


def test_a_content_is_there_once() -> None:
    pairs = PairIndices(np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([True, False, False]))
    rows = [digest(0), digest(0), digest(1)]
    twice = LearningSet.of(rows, FEATURES[:3].astype(np.float16), ["cup", None, None], pairs)
    assert len(twice) == 2
    assert len(twice.pairs) == 1, "a picture and its copy are no pair, and both pairs with the other are one"
    assert not twice.pairs.similar[0]


def test_verdicts_that_repeat_the_labels_tell_nothing() -> None:
    said = [(0, 1, True), (0, 2, False), (1, 2, True), (0, 3, True)]
    data = set_of(FEATURES, LABELS, said)
    assert sorted(data.agreeing.tolist()) == [False, False, True, True]
    assert len(data.telling) == 2
    without = set_of(FEATURES, LABELS, said[2:])
    assert data.fingerprint == without.fingerprint
    assert data.fingerprint != set_of(FEATURES, LABELS, said[3:]).fingerprint
    assert data.fingerprint != set_of(FEATURES, ["cup", "cup", None, None, None, None], said[2:]).fingerprint
    more = np.concatenate([FEATURES, FEATURES[:1]])
    assert data.fingerprint == set_of(more, [*LABELS, None], said).fingerprint, "nobody said anything of the new one"


def test_what_is_known_of_some_can_be_left_out() -> None:
    data = set_of(FEATURES, LABELS, [(0, 3, True), (3, 4, False)])
    out = np.array([content == digest(3) for content in data.digests])
    rest = data.without(out)
    assert (len(rest), len(rest.pairs), rest.labels) == (6, 0, data.labels)
    inside = data.within(~out)
    assert (len(inside), len(inside.pairs)) == (5, 0)
    gone = data.without(np.ones(6, bool))
    assert not gone.learnable
    assert gone.labels == [None] * 6


def test_a_fit_is_given_classes_with_pairs_beside_them_or_pairs_alone() -> None:
    by_class = set_of(FEATURES, LABELS, [(0, 3, True)]).training_data()
    assert isinstance(by_class.known, np.ndarray)
    assert len(by_class.given_pairs) == 1
    assert by_class.learnable
    by_pair = set_of(FEATURES, [None] * 6, [(0, 3, True), (1, 2, False)]).training_data()
    assert isinstance(by_pair.known, PairIndices)
    assert (by_pair.single_labels == -1).all()
    one_kind = set_of(FEATURES, ["cup", "cup", "cup", None, None, None], [(0, 3, False)]).training_data()
    assert isinstance(one_kind.known, PairIndices)
    assert one_kind.learnable, "the images of one category are similar, and a verdict says what is not"
    assert not set_of(FEATURES, ["cup", "plate", None, None, None, None]).learnable
    assert not set_of(FEATURES, [None] * 6).learnable


def test_labels_may_name_several_classes() -> None:
    data = set_of(FEATURES, ["cat", "cat|dog", "dog", None, None, None])
    assert not isinstance(data.training_data().known, Membership), "a category may be called so"
    several = replace(data, separated=True).training_data()
    assert isinstance(several.known, Membership)
    assert several.known.matrix.sum() == 4
    assert sorted(several.single_labels.tolist())[:4] == [-1] * 4


def test_features_are_normalised_once_for_all_parts() -> None:
    data = loud_set(n=30)
    assert np.array_equal(data.histograms, l1_normalised(data.features.astype(np.float32)))
    assert data.without(np.zeros(30, bool)).histograms is data.histograms
