import numpy as np
import numpy.typing as npt
import pytest

from trainer.one_pair import SparseRows, descend
from trainer.sampling import PairIndices

Matrix = npt.NDArray[np.float64]


def reference_descent(
    x: Matrix, landmarks: Matrix, pairs: PairIndices, r: float, b: float, m: float
) -> tuple[Matrix, int]:
    """Algorithm 1 in float64, written from the paper's text."""
    L = landmarks.copy()
    violations = 0
    for i, j, similar in zip(pairs.left, pairs.right, pairs.similar, strict=True):
        y = 1 if similar else -1
        k_i, k_j = kernel(x[i], L), kernel(x[j], L)
        if y * (b - ((k_i - k_j) ** 2).sum()) < m:
            violations += 1
            L -= r * y * (k_i - k_j)[:, None] * (gradient(x[i], L) - gradient(x[j], L))
    return L, violations


def kernel(x: Matrix, L: Matrix) -> Matrix:
    total = abs(x) + abs(L)
    return np.asarray((2 * x * L / np.where(total > 0, total, 1)).sum(1))


def gradient(x: Matrix, L: Matrix) -> Matrix:
    total = abs(x) + abs(L)
    return np.asarray(2 * x * abs(x) / np.where(total > 0, total, 1) ** 2)


@pytest.mark.parametrize("scale", [0.5, 1 / 30], ids=["paper", "data-scaled"])
def test_descent_equals_the_paper_step_by_step(scale: float) -> None:
    rng = np.random.default_rng(0)
    n, feature_dim, d, count = 12, 30, 4, 300
    x = rng.exponential(size=(n, feature_dim)) * (rng.random((n, feature_dim)) > 0.5)
    x /= x.sum(1, keepdims=True)
    left, right = rng.integers(n, size=(2, count))
    pairs = PairIndices(left, (left + 1 + right % (n - 1)) % n, rng.random(count) < 0.5)
    landmarks = rng.uniform(-scale, scale, (d, feature_dim))
    landmarks[0, 3] = 0
    expected, violations = reference_descent(x, landmarks, pairs, r=0.01, b=0.1, m=0.02)
    columns = np.ascontiguousarray(landmarks.T.astype(np.float32))
    counted = descend(SparseRows.of(x.astype(np.float32)), columns, pairs, learning_rate=0.01, b=0.1, m=0.02)
    assert 0 < violations < count
    assert sum(counted) == violations
    np.testing.assert_allclose(columns.T, expected, atol=2e-5)


def test_a_pair_that_keeps_its_margin_changes_nothing() -> None:
    x = np.array([[1, 0], [0, 1]], np.float32)
    columns = np.array([[1], [-1]], np.float32)  # k = 1 and -1: squared distance 4
    before = columns.copy()
    dissimilar = PairIndices(np.array([0]), np.array([1]), np.array([False]))
    assert descend(SparseRows.of(x), columns, dissimilar, learning_rate=1, b=0.1, m=0.02) == (0, 0)
    np.testing.assert_array_equal(columns, before)


def test_one_step_by_hand() -> None:
    x = np.array([[1, 0], [0, 1]], np.float32)
    columns = np.array([[1], [-1]], np.float32)
    similar = PairIndices(np.array([0]), np.array([1]), np.array([True]))
    assert descend(SparseRows.of(x), columns, similar, learning_rate=0.1, b=0.1, m=0.02) == (1, 0)
    # k_i - k_j = 2; the gradients are 2 (1/2)^2 = 0.5 at each one's own bin: L -= 0.1 * 2 * (0.5, -0.5)
    np.testing.assert_allclose(columns[:, 0], [0.9, -0.9], rtol=1e-6)


def test_sparse_rows_hold_the_matrix() -> None:
    matrix = np.array([[0, 2, 0, 3], [0, 0, 0, 0], [4, 0, 0, 0]], np.float32)
    rows = SparseRows.of(matrix)
    assert rows.starts.tolist() == [0, 2, 2, 3]
    assert rows.columns.tolist() == [1, 3, 0]
    assert rows.values.tolist() == [2, 3, 4]
