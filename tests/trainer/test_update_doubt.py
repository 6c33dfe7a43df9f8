"""Where verdicts go either way."""

import numpy as np
import numpy.typing as npt
import pytest

from embedding.metric import LinearMetric
from tests.trainer.updates import made_of
from trainer.update.doubt import even_distance

ANGLES = np.linspace(0, 1.5, 61)  # of unit vectors to the first one
SQUARED = 2 - 2 * np.cos(ANGLES)


def even(similar: npt.NDArray[np.bool_]) -> float | None:
    """Of verdicts about the first image and each other one."""
    metric = LinearMetric(np.eye(2, dtype=np.float32), np.zeros(2, np.float32))
    pairs = [(0, row, bool(same)) for row, same in enumerate(similar, 1)]
    return even_distance(metric, made_of(np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1), [None] * 61, pairs))


def test_it_parts_the_verdicts_with_the_fewest_errors() -> None:
    similar = np.arange(1, 61) <= 20
    assert even(similar) == pytest.approx(SQUARED[20], rel=1e-2)
    similar[[3, 40]] = [False, True]  # a wrong one of each kind moves nothing
    assert even(similar) == pytest.approx(SQUARED[20], rel=1e-2)


def test_it_is_where_answers_are_even_whichever_kind_is_rarer() -> None:
    """Beyond the 10th two of three are dissimilar: a threshold for equally frequent kinds would lie farther out."""
    similar = (np.arange(1, 61) <= 10) | ((np.arange(1, 61) <= 40) & (np.arange(1, 61) % 3 == 0))
    assert even(similar) == pytest.approx(SQUARED[10], rel=1e-2)


def test_too_few_verdicts_of_a_kind_tell_nothing() -> None:
    assert even(np.arange(1, 61) <= 9) is None
    assert even(np.arange(1, 61) > 9) is None
