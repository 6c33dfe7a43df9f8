"""How much a set of images stands for its collection, on images whose places are known."""

import numpy as np
import numpy.typing as npt
import pytest

from trainer.evenness import evenness

N = 1200


@pytest.fixture(scope="module")
def histograms() -> npt.NDArray[np.float32]:
    """In random order, on a ring of bins: like ones share bins."""
    rng = np.random.default_rng(0)
    places, bins = rng.random(N), np.arange(60) / 60
    apart = np.abs(places[:, None] - bins)
    made = np.exp(-np.square(np.minimum(apart, 1 - apart) / 0.05)).astype(np.float32)
    return made / made.sum(1, keepdims=True)  # type: ignore[no-any-return] # numpy's own types


def known(*rows: int) -> npt.NDArray[np.bool_]:
    return np.isin(np.arange(N), rows)


@pytest.mark.parametrize("count", [100, 400, N])
def test_images_drawn_at_random_are_even(histograms: npt.NDArray[np.float32], count: int) -> None:
    drawn = known(*np.random.default_rng(1).permutation(N)[:count])
    assert evenness(histograms, drawn) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("searches", [5, 20])
def test_results_of_a_search_count_about_as_one(histograms: npt.NDArray[np.float32], searches: int) -> None:
    """Eleven that lie side by side."""
    roots = np.sqrt(histograms)
    asked = np.random.default_rng(2).permutation(N)[:searches]
    near = np.argsort(-(roots[asked] @ roots.T), axis=1)[:, :11]
    share = evenness(histograms, known(*near.ravel()))
    assert 1 / 22 < share < 4 / 11


def test_of_one_image_nothing_can_be_told(histograms: npt.NDArray[np.float32]) -> None:
    assert evenness(histograms, known(3)) == evenness(histograms, known()) == 1.0
