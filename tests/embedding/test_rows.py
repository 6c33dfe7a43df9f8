"""The fast ways of rows, each against its plain reference."""

import numpy as np
import numpy.typing as npt
import pytest

from embedding._rows_cpu import divided_by_l1, divided_by_l2, widened
from embedding.errors import BadFeatures
from embedding.hellinger import HellingerNetwork
from embedding.metric import check_features

ALL_HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
USABLE = np.isfinite(ALL_HALVES) & ~np.signbit(ALL_HALVES)


def test_every_usable_half_is_widened_exactly() -> None:
    np.testing.assert_array_equal(widened(ALL_HALVES[USABLE]), ALL_HALVES[USABLE].astype(np.float32))


def test_every_other_half_is_left_to_numpy() -> None:
    assert all(widened(ALL_HALVES[i : i + 1]) is None for i in np.flatnonzero(~USABLE))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_halves_are_named(bad: float) -> None:
    features = np.ones((3, 4), np.float16)
    features[1, 2] = bad
    with pytest.raises(BadFeatures, match="row 1, column 2"):
        check_features(features, 4)


def test_a_negative_zero_is_no_negative_number() -> None:
    np.testing.assert_array_equal(check_features(np.full((2, 3), -0.0, np.float16), 3), np.zeros((2, 3)))


def test_halves_of_another_shape_are_refused() -> None:
    with pytest.raises(BadFeatures, match="shape"):
        check_features(np.ones((2, 3), np.float16), 4)


@pytest.mark.parametrize("order", ["C", "F"])
def test_divisions_equal_those_of_numpy(order: str) -> None:
    rows = np.random.default_rng(0).normal(size=(9, 203)).astype(np.float32)
    rows[3] = 0
    given = np.asarray(rows, order=order)  # type: ignore[call-overload]
    total, length = np.abs(rows).sum(1, dtype=np.float64), np.sqrt(np.square(rows, dtype=np.float64).sum(1))
    total[3] = length[3] = 1
    np.testing.assert_allclose(divided_by_l1(given), rows / total[:, None], rtol=1e-7)
    np.testing.assert_allclose(divided_by_l2(given), rows / length[:, None], rtol=1e-7)


@pytest.mark.parametrize(("hidden", "d"), [(512, 16), (37, 3), (32, 32), (1, 1)])
def test_many_rows_of_a_network_give_the_bits_of_one(hidden: int, d: int) -> None:
    rng = np.random.default_rng(0)
    shapes = ((50, hidden), (hidden,), (d, hidden), (50, d), (d,))
    network = HellingerNetwork(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))
    features = _sparse(rng, 131, 50)
    together, alone = network.embed(features), np.concatenate([network.embed(row[None]) for row in features])
    np.testing.assert_array_equal(together, alone)


def _sparse(rng: np.random.Generator, n: int, feature_dim: int) -> npt.NDArray[np.float16]:
    features = rng.exponential(size=(n, feature_dim)) * (rng.random((n, feature_dim)) > 0.5)
    features[0] = 0
    return features.astype(np.float16)
