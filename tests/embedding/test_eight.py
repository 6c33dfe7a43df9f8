from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from numba import njit

from embedding.compiled import compiled
from embedding.eight import EIGHT, load, spread, store, total

Floats = npt.NDArray[np.float32]


@compiled
def every_operation(left: Floats, right: Floats, number: np.float32, out: Floats) -> Any:
    for row in range(len(left)):
        a, b = load(left, row), load(right, row)
        store(out, 6 * row, a + b)
        store(out, 6 * row + 1, a - b)
        store(out, 6 * row + 2, a * b)
        store(out, 6 * row + 3, a / b)
        store(out, 6 * row + 4, abs(a))
        store(out, 6 * row + 5, spread(number))
    sums = spread(np.float32(0))
    for row in range(len(left)):
        sums += load(left, row)
    return total(sums)


@pytest.mark.parametrize("rows", [1, 3])
def test_each_operation_equals_numpy(rows: int) -> None:
    rng = np.random.default_rng(rows)
    left, right = rng.normal(size=(2, rows, EIGHT)).astype(np.float32)
    out = np.empty((6 * rows, EIGHT), np.float32)
    sums = every_operation(left, right, np.float32(2.5), out)
    expected = [left + right, left - right, left * right, left / right, abs(left), np.full_like(left, 2.5)]
    np.testing.assert_allclose(out.reshape(rows, 6, EIGHT), np.stack(expected, 1), rtol=3e-7)
    assert sums == pytest.approx(float(left.sum(dtype=np.float64)), rel=1e-5, abs=1e-6)


def test_nan_and_infinity_pass_through() -> None:
    left = np.array([[np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 3]], np.float32)
    right = np.array([[1, 1, 1, 0, 1, 0, np.inf, np.nan]], np.float32)
    out = np.empty((6, EIGHT), np.float32)
    every_operation(left, right, np.float32(0), out)
    with np.errstate(all="ignore"):
        expected = [left + right, left - right, left * right, left / right, abs(left)]
    np.testing.assert_array_equal(out[:5], np.concatenate(expected))


@compiled
def move_row(source: Floats, source_row: Any, target: Floats, target_row: int) -> None:
    store(target, target_row, load(source, source_row))


def test_only_the_named_row_is_written() -> None:
    source = np.arange(32, dtype=np.float32).reshape(4, EIGHT)
    target = np.zeros((3, EIGHT), np.float32)
    move_row(source, np.int32(2), target, 1)
    np.testing.assert_array_equal(target, [[0] * EIGHT, source[2].tolist(), [0] * EIGHT])


def test_it_is_vector_code() -> None:
    """One division for eight numbers, not eight divisions."""
    left = np.ones((1, EIGHT), np.float32)
    compiled_now = njit(error_model="numpy")(
        cast(Any, every_operation).py_func
    )  # from the cache it cannot be inspected
    compiled_now(left, left, np.float32(1), np.empty((6, EIGHT), np.float32))
    llvm = "".join(compiled_now.inspect_llvm().values())
    assert f"<{EIGHT} x float>" in llvm
