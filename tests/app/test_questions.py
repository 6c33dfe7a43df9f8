"""Which pairs `app.services.questions` chooses, on points whose distances are plain to see."""

from itertools import combinations

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from app.services.doubts import LabelDoubt
from app.services.questions import Question, View, choose

NONE = np.empty((0, 2), np.int64)


def on_a_line(*places: float, b: float = 1.0) -> View:
    return View(np.array(places, np.float32)[:, None], b)


def asked(questions: list[Question]) -> list[tuple[int, int]]:
    return [(each.left, each.right) for each in questions]


def new(n: int, *old: int) -> npt.NDArray[np.bool_]:
    return ~np.isin(np.arange(n), old)


def images_of(questions: list[Question]) -> list[int]:
    return [row for each in questions for row in (each.left, each.right)]


def first_repeat(rows: list[int]) -> int:
    """How many there are before one comes again."""
    return next((at for at, row in enumerate(rows) if row in rows[:at]), len(rows))


def random_points(seed: int, n: int, d: int = 3) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def test_the_pair_nearest_to_the_threshold_comes_first() -> None:
    view = on_a_line(0.0, 0.5, 1.55, 5.0)  # squared distances 0.25, 1.1025, 2.4025 and more
    (first,) = choose(view, None, NONE, new(4), 1)
    expected = float(np.square(np.float64(np.float32(1.55)) - 0.5))
    assert first == Question(1, 2, expected, is_disputed=False)


def test_where_verdicts_went_either_way_it_is_asked_rather_than_at_the_threshold() -> None:
    points = np.array([[0.0], [0.5], [1.55], [5.0]], np.float32)
    (first,) = choose(View(points, b=1.0, even=0.3), None, NONE, new(4), 1)
    assert (first.left, first.right) == (0, 1)  # squared distance 0.25


def test_judged_pairs_and_copies_are_left_out() -> None:
    view = on_a_line(0.0, 0.0, 1.0)  # the first two are copies
    judged = np.array([[2, 0]])
    assert asked(choose(view, None, judged, new(3, 0, 2), 10)) == [(1, 2)]
    assert asked(choose(on_a_line(2.0, 2.0, 2.0), None, NONE, new(3), 10)) == []


def test_images_that_nobody_was_asked_about_come_first() -> None:
    view = on_a_line(0.0, 1.0, 10.0, 13.0)  # the first two are right at the threshold, and known
    assert asked(choose(view, None, NONE, new(4, 0, 1), 1)) == [(2, 3)]


def test_disputed_pairs_come_before_doubtful_ones_and_the_surest_first() -> None:
    ours = on_a_line(0.0, 0.99, 10.0, 10.5, 20.0, 20.1)  # each two neighbours are the same to it
    theirs = on_a_line(0.0, 0.99, 10.0, 13.0, 20.0, 21.5)  # to this one only the first two
    questions = choose(ours, theirs, NONE, new(6), 3)
    assert asked(questions) == [(4, 5), (2, 3), (0, 1)] or asked(questions) == [(2, 3), (4, 5), (0, 1)]
    assert [each.is_disputed for each in questions] == [True, True, False]
    strongest = choose(ours, theirs, NONE, new(6), 1)
    assert asked(strongest) == [(4, 5)]  # sure by 0.99 and 1.25; the other pair by 0.75 and 8


def test_every_image_once_before_one_comes_twice() -> None:
    view = View(random_points(1, 10), 2.0)
    questions = choose(view, None, NONE, new(10), 12)
    assert len(questions) == 12
    assert sorted(images_of(questions[:5])) == list(range(10))
    assert sorted(images_of(questions[5:10])) == list(range(10))
    assert len(set(asked(questions))) == 12


def test_all_pairs_come_if_so_many_are_wanted() -> None:
    questions = choose(View(random_points(2, 6), 2.0), None, NONE, new(6), 100)
    assert sorted(asked(questions)) == list(combinations(range(6), 2))


def test_pairs_are_spread_over_the_collection() -> None:
    """Four far clusters, the pairs of one a little nearer to the threshold than those of the others."""
    steps = [1.0, 1.001, 1.002, 1.003]
    places = [100.0 * cluster + step * k for cluster, step in enumerate(steps) for k in range(10)]
    questions = choose(on_a_line(*places), None, NONE, new(40), 4)
    assert {each.left // 10 for each in questions} == {0, 1, 2, 3}


def test_two_images_with_a_category_are_not_asked_about() -> None:
    view = View(random_points(3, 6), 2.0)
    named = np.array([True, True, True, False, False, True])
    found = asked(choose(view, None, NONE, new(6), 100, named))
    assert sorted(found) == [pair for pair in combinations(range(6), 2) if not named[list(pair)].all()]
    assert choose(view, None, NONE, new(6), 100, np.ones(6, bool)) == []


def test_one_question_of_five_is_about_a_label_while_there_are_others() -> None:
    view = View(random_points(4, 12), 2.0)
    named = np.arange(12) < 6
    doubted = [LabelDoubt(row, (row + 1) % 6, 0, 1.0) for row in range(6)]
    is_label = [each.doubt is not None for each in choose(view, None, NONE, new(12), 10, named, doubted)]
    assert is_label == [*[False] * 4, True] * 2
    questions = choose(view, None, NONE, new(12), 100, named, doubted)
    assert [each.doubt for each in questions if each.doubt] == doubted
    alone = choose(view, None, NONE, new(12), 4, np.ones(12, bool), doubted)
    assert [each.doubt for each in alone] == doubted[:4]
    assert all(each.left < each.right and each.squared_distance > 0 for each in alone)


def test_one_image_makes_no_pair() -> None:
    assert choose(on_a_line(1.0), None, NONE, new(1), 5) == []


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 30), st.booleans())
def test_what_holds_for_every_choice(seed: int, n: int, count: int, has_other: bool) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, 2)).astype(np.float32)  # many copies and equal distances
    view, other = View(points, 1.5), View(random_points(seed, n, 4), 3.0) if has_other else None
    judged = np.sort(rng.integers(0, n, (n, 2)), axis=1)
    is_new = rng.random(n) < 0.5
    questions = choose(view, other, judged, is_new, count)
    assert questions == choose(view, other, judged, is_new, count)
    assert len(questions) <= count
    assert len(set(asked(questions))) == len(questions)
    assert not set(asked(questions)) & set(map(tuple, judged.tolist()))
    for each in questions:
        exact = float(np.square(points[each.left].astype(np.float64) - points[each.right]).sum())
        assert each.left < each.right
        assert each.squared_distance == exact > 0
    turn = questions[: first_repeat(images_of(questions)) // 2]
    without_new = [not is_new[[each.left, each.right]].any() for each in turn]
    assert without_new == sorted(without_new)
