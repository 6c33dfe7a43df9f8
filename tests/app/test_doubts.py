"""Which labels `app.services.doubts` doubts, on points whose neighbours are plain to see."""

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from app.services.doubts import LabelDoubt, doubts

NONE = np.empty((0, 2), np.int64)


def two_clusters(per_cluster: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """On a line, those of category 0 at 0, 1, ..., those of 1 from 1000 on."""
    places = np.arange(per_cluster)
    points = np.concatenate([places, 1000 + places]).astype(np.float32)[:, None]
    return points, np.repeat([0, 1], per_cluster)


def test_a_label_among_others_is_doubted_and_its_nearest_neighbour_is_the_partner() -> None:
    points, labels = two_clusters(12)
    points[3], labels[3] = 2.8, 1
    assert doubts(points, labels, NONE) == [LabelDoubt(3, 2, 0, 1.0)]
    labels[20] = -1  # what has no category is neither doubted nor asked
    assert doubts(points, labels, NONE) == [LabelDoubt(3, 2, 0, 1.0)]


def test_nothing_is_doubted_where_all_agree_or_neighbours_do_not() -> None:
    points, labels = two_clusters(12)
    assert doubts(points, labels, NONE) == []
    mixed = np.arange(24) % 4  # no category has the greater part of ten neighbours
    assert doubts(points, mixed, NONE) == []
    assert doubts(points[:5], np.array([0, 1, 1, 1, 1]), NONE) == [], "too few are called anything"


def test_an_answer_about_it_settles_it() -> None:
    points, labels = two_clusters(12)
    points[3], labels[3] = 2.8, 1
    assert doubts(points, labels, np.array([[3, 9]])) == []
    assert doubts(points, labels, np.array([[9, 3]])) == []
    assert doubts(points, labels, np.array([[3, 15], [8, 9]])) == [LabelDoubt(3, 2, 0, 1.0)], "about other things"


def test_copies_do_not_speak_about_each_other() -> None:
    points, labels = two_clusters(16)
    points[4:6], labels[3:6] = points[3], 1
    found = doubts(points, labels, NONE)
    assert {each.image for each in found} == {3, 4, 5}
    assert {each.partner for each in found} == {2}


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(0, 40))
def test_what_holds_for_every_doubt(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 6, (n, 2)).astype(np.float32)
    labels = rng.integers(-1, 3, n)
    judged = rng.integers(0, max(n, 1), (5, 2)) if n else NONE
    found = doubts(points, labels, judged)
    assert [each.share for each in found] == sorted((each.share for each in found), reverse=True)
    for each in found:
        assert labels[each.image] >= 0
        assert labels[each.partner] == each.label != labels[each.image]
        assert 0.7 <= each.share <= 1
        assert not np.array_equal(points[each.image], points[each.partner])
