import numpy as np
import pytest

from trainer.membership import Membership, label_names


@pytest.mark.parametrize(
    ("label", "names"),
    [("cat", {"cat"}), ("cat|dog", {"cat", "dog"}), (" cat | dog ", {"cat", "dog"}), ("cat||", {"cat"}), ("|", set())],
)
def test_the_names_of_a_label(label: str, names: set[str]) -> None:
    assert label_names(label) == names


def test_classes_are_in_alphabetical_order() -> None:
    known = Membership.of(["b", "c|a", "a|b"])
    assert known.matrix.tolist() == [[False, True, False], [True, False, True], [True, True, False]]
    assert known.single.tolist() == [True, False, False]


def test_the_part_of_some_images() -> None:
    assert Membership.of(["a", "b", "a|b"]).within(np.array([False, True, True])).matrix.tolist() == [
        [False, True],
        [True, True],
    ]


@pytest.mark.parametrize(
    ("labels", "both"),
    [
        (["a", "a", "b"], True),
        (["a", "a|b", "b"], True),
        (["a|b", "b|c", "b"], False),  # all share b
        (["a", "b", "c"], False),  # none share
    ],
)
def test_learning_needs_images_that_share_and_images_that_do_not(labels: list[str], both: bool) -> None:
    assert Membership.of(labels).has_both_kinds is both
