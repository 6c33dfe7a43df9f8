from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest

from trainer.one_pair import SparseRows, descend, descend_linear
from trainer.sampling import PairIndices

Matrix = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Unit = Literal["chi2", "linear"]


def descend_by(unit: Unit, x: Matrix, L: Floats, pairs: PairIndices, r: float, b: float, m: float) -> tuple[int, int]:
    if unit == "chi2":
        return descend(SparseRows.of(x.astype(np.float32)), L, pairs, learning_rate=r, b=b, m=m)
    return descend_linear(x.astype(np.float32), L, pairs, learning_rate=r, b=b, m=m)


def reference_descent(
    x: Matrix, L_start: Matrix, pairs: PairIndices, unit: Unit, r: float, b: float, m: float
) -> tuple[Matrix, int]:
    """Algorithm 1 in float64, written from the paper's text."""
    value, gradient = (kernel, kernel_gradient) if unit == "chi2" else (product, product_gradient)
    L = L_start.copy()
    violations = 0
    for i, j, similar in zip(pairs.left, pairs.right, pairs.similar, strict=True):
        y = 1 if similar else -1
        f_i, f_j = value(x[i], L), value(x[j], L)
        if y * (b - ((f_i - f_j) ** 2).sum()) < m:
            violations += 1
            L -= r * y * (f_i - f_j)[:, None] * (gradient(x[i], L) - gradient(x[j], L))
    return L, violations


def kernel(x: Matrix, L: Matrix) -> Matrix:
    total = abs(x) + abs(L)
    return np.asarray((2 * x * L / np.where(total > 0, total, 1)).sum(1))


def kernel_gradient(x: Matrix, L: Matrix) -> Matrix:
    total = abs(x) + abs(L)
    return np.asarray(2 * x * abs(x) / np.where(total > 0, total, 1) ** 2)


def product(x: Matrix, L: Matrix) -> Matrix:
    return L @ x


def product_gradient(x: Matrix, L: Matrix) -> Matrix:
    return np.broadcast_to(x, L.shape)


def random_problem(d: int, scale: float) -> tuple[Matrix, Matrix, PairIndices]:
    """Non-negative rows, more than half of them zeros; L within the scale; pairs of different images."""
    rng = np.random.default_rng(0)
    n, feature_dim, count = 12, 30, 300
    x = rng.exponential(size=(n, feature_dim)) * (rng.random((n, feature_dim)) > 0.5)
    x /= x.sum(1, keepdims=True)
    left, right = rng.integers(n, size=(2, count))
    pairs = PairIndices(left, (left + 1 + right % (n - 1)) % n, rng.random(count) < 0.5)
    L = rng.uniform(-scale, scale, (d, feature_dim))
    L[0, 3] = 0
    return x, L, pairs


@pytest.mark.parametrize("d", [1, 4, 8, 13])  # below, at and above what one register holds
@pytest.mark.parametrize(("unit", "scale"), [("chi2", 0.5), ("chi2", 1 / 30), ("linear", 1.0)])
def test_descent_equals_the_paper_step_by_step(unit: Unit, scale: float, d: int) -> None:
    x, L, pairs = random_problem(d, scale)
    expected, violations = reference_descent(x, L, pairs, unit, r=0.01, b=0.1, m=0.02)
    weights = L.astype(np.float32)
    counted = descend_by(unit, x, weights, pairs, r=0.01, b=0.1, m=0.02)
    assert violations > 0
    assert sum(counted) == violations
    assert not np.allclose(weights, L)
    np.testing.assert_allclose(weights, expected, atol=2e-5)


@pytest.mark.parametrize("unit", ["chi2", "linear"])
def test_in_pieces_equals_at_once(unit: Unit) -> None:
    x, L, pairs = random_problem(5, 0.1)
    once, pieces = L.astype(np.float32), L.astype(np.float32)
    descend_by(unit, x, once, pairs, r=0.01, b=0.1, m=0.02)
    for chosen in np.array_split(np.arange(len(pairs)), 7):
        descend_by(unit, x, pieces, pairs.take(chosen), r=0.01, b=0.1, m=0.02)
    np.testing.assert_array_equal(once, pieces)


def test_signed_features_have_a_linear_unit() -> None:
    x, L, pairs = random_problem(3, 1.0)
    x = x - 0.02
    expected, _ = reference_descent(x, L, pairs, "linear", r=0.01, b=0.1, m=0.02)
    weights = L.astype(np.float32)
    descend_by("linear", x, weights, pairs, r=0.01, b=0.1, m=0.02)
    np.testing.assert_allclose(weights, expected, atol=2e-5)


def test_a_pair_that_keeps_its_margin_changes_nothing() -> None:
    x = np.eye(2)
    weights = np.array([[1, -1]], np.float32)  # k = 1 and -1: squared distance 4
    dissimilar = PairIndices(np.array([0]), np.array([1]), np.array([False]))
    assert descend_by("chi2", x, weights, dissimilar, r=1, b=0.1, m=0.02) == (0, 0)
    np.testing.assert_array_equal(weights, [[1, -1]])


@pytest.mark.parametrize(
    ("unit", "after"),
    [
        ("chi2", [0.9, -0.9]),  # k_i - k_j = 2; the gradients are 2 (1/2)^2 = 0.5 at each one's own bin
        ("linear", [0.8, -0.8]),  # the difference is 2 as well, the gradients are the features themselves
    ],
)
def test_one_step_by_hand(unit: Unit, after: list[float]) -> None:
    weights = np.array([[1, -1]], np.float32)
    similar = PairIndices(np.array([0]), np.array([1]), np.array([True]))
    assert descend_by(unit, np.eye(2), weights, similar, r=0.1, b=0.1, m=0.02) == (1, 0)
    np.testing.assert_allclose(weights[0], after, rtol=1e-6)


def test_rows_of_zeros_have_the_same_embedding_and_learn_nothing() -> None:
    weights = np.ones((2, 3), np.float32)
    pair = PairIndices(np.array([0]), np.array([1]), np.array([False]))
    assert descend_by("chi2", np.zeros((2, 3)), weights, pair, r=1, b=0.1, m=0.02) == (0, 1)
    np.testing.assert_array_equal(weights, np.ones((2, 3)))


def test_sparse_rows_hold_the_matrix() -> None:
    matrix = np.array([[0, 2, 0, 3], [0, 0, 0, 0], [4, 0, 0, 0]], np.float32)
    rows = SparseRows.of(matrix)
    assert rows.starts.tolist() == [0, 2, 2, 3]
    assert rows.columns.tolist() == [1, 3, 0]
    assert rows.values.tolist() == [2, 3, 4]
