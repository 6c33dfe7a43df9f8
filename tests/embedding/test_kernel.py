import tracemalloc

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embedding import kernel
from embedding.errors import BadFeatures
from embedding.kernel import shifted_chi2_kernel, shifted_chi2_kernel_vjp

Matrix = npt.NDArray[np.float64]

values = st.floats(-4, 4, width=32).filter(lambda value: value == 0 or abs(value) > 1e-3)
histograms = arrays(np.float64, 12, elements=st.floats(0, 1)).filter(lambda x: x.sum() > 0.1).map(lambda x: x / x.sum())


def reference_kernel(x: Matrix, landmarks: Matrix) -> Matrix:
    """The formula, bin by bin."""
    result = np.zeros((len(x), len(landmarks)))
    for i in range(len(x)):
        for t in range(len(landmarks)):
            for c in range(x.shape[1]):
                total = abs(x[i, c]) + abs(landmarks[t, c])
                if total > 0:
                    result[i, t] += 2 * x[i, c] * landmarks[t, c] / total
    return result


def sparse_features(rng: np.random.Generator, n: int, feature_dim: int) -> Matrix:
    x = rng.exponential(size=(n, feature_dim)) * (rng.random((n, feature_dim)) > 0.6)
    x[:, 0] += 0.01  # no row is all zeros
    return np.asarray(x / x.sum(1, keepdims=True))


def k(x: list[float], landmark: list[float]) -> float:
    return float(
        shifted_chi2_kernel(torch.tensor([x], dtype=torch.float32), torch.tensor([landmark], dtype=torch.float32))[0, 0]
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_equals_the_double_loop(dtype: type) -> None:
    rng = np.random.default_rng(0)
    x, landmarks = sparse_features(rng, 7, 33), rng.normal(size=(5, 33)) / 33
    landmarks[:, 4] = 0  # bins where both are 0
    got = shifted_chi2_kernel(torch.from_numpy(x.astype(dtype)), torch.from_numpy(landmarks.astype(dtype)))
    np.testing.assert_allclose(got.numpy(), reference_kernel(x, landmarks), atol=float(np.finfo(dtype).eps) * 10)


@pytest.mark.parametrize("zeros", [0.0, 0.5, 0.85, 0.95, 1.0])
def test_sparse_and_dense_rows_give_the_same(zeros: float) -> None:
    """A row with fewer than a tenth of its features goes another way than the others; both follow the formula."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(6, 203)) * (rng.random((6, 203)) >= zeros)
    landmarks = rng.normal(size=(3, 203))
    landmarks[:, ::7] = 0
    got = shifted_chi2_kernel(torch.from_numpy(x), torch.from_numpy(landmarks))
    np.testing.assert_allclose(got.numpy(), reference_kernel(x, landmarks), atol=1e-12)
    upstream = torch.from_numpy(rng.normal(size=(6, 3)))
    torch.testing.assert_close(
        shifted_chi2_kernel_vjp(torch.from_numpy(x), torch.from_numpy(landmarks), upstream),
        kernel._vjp_in_blocks(torch.from_numpy(x), torch.from_numpy(landmarks), upstream),
    )


def test_kernel_by_hand() -> None:
    assert k([0.5, 0.5], [0.5, 0.5]) == 1
    assert k([1, 0], [0, 1]) == 0
    assert k([0.25, 0.75], [0.75, 0.25]) == pytest.approx(0.75)  # 2 (0.1875 / 1 + 0.1875 / 1)
    assert k([1, 0], [-1, 5]) == -1  # 2 (1)(-1) / 2, and nothing from the empty bin
    assert k([0, 0], [0, 0]) == 0  # 0/0 counts as 0


@given(histograms)
def test_a_histogram_with_itself_is_one(x: Matrix) -> None:
    row = torch.from_numpy(x)[None]
    assert shifted_chi2_kernel(row, row).item() == pytest.approx(1, abs=1e-12)


@given(arrays(np.float64, 6, elements=values), arrays(np.float64, 6, elements=values), st.floats(0.01, 100))
def test_symmetric_bounded_and_homogeneous(x: Matrix, landmark: Matrix, factor: float) -> None:
    a, b = torch.from_numpy(x)[None], torch.from_numpy(landmark)[None]
    value = shifted_chi2_kernel(a, b).item()
    assert shifted_chi2_kernel(b, a).item() == pytest.approx(value, abs=1e-12)
    assert abs(value) <= 2 * np.minimum(abs(x), abs(landmark)).sum() + 1e-12
    assert shifted_chi2_kernel(factor * a, factor * b).item() == pytest.approx(factor * value, rel=1e-9, abs=1e-9)


@given(st.permutations(range(8)))
def test_the_order_of_bins_means_nothing(order: list[int]) -> None:
    rng = np.random.default_rng(1)
    x, landmarks = torch.from_numpy(sparse_features(rng, 3, 8)), torch.from_numpy(rng.normal(size=(2, 8)))
    shuffled = shifted_chi2_kernel(x[:, order], landmarks[:, order])
    torch.testing.assert_close(shuffled, shifted_chi2_kernel(x, landmarks), rtol=0, atol=1e-12)


def test_gradient_equals_finite_differences() -> None:
    rng = np.random.default_rng(2)
    x = torch.from_numpy(sparse_features(rng, 4, 9))
    landmarks = torch.from_numpy(rng.choice([-1, 1], (3, 9)) * rng.uniform(0.05, 0.3, (3, 9))).requires_grad_()
    assert torch.autograd.gradcheck(lambda leaf: shifted_chi2_kernel(x, leaf), [landmarks], eps=1e-7, atol=1e-6)


def test_gradient_by_hand() -> None:
    x, landmarks, upstream = (torch.tensor([row]) for row in ([1.0, 3.0, 0.0], [1.0, -1.0, 2.0], [1.0]))
    # 2 x^2 / (x + |l|)^2: 2 / 4, 18 / 16, and nothing where x is 0
    torch.testing.assert_close(
        shifted_chi2_kernel_vjp(x, landmarks, upstream), torch.tensor([[0.5, 1.125, 0.0]]), rtol=0, atol=1e-7
    )


def test_gradient_of_negative_features_follows_the_formula() -> None:
    landmark = torch.tensor([[0.5, -0.25]], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([[-1.0, -2.0]], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda leaf: shifted_chi2_kernel(x, leaf), [landmark], eps=1e-7, atol=1e-6)


def test_tiny_values_stay_finite() -> None:
    x, landmarks = torch.full((1, 4), 1e-30), torch.full((2, 4), 1e-30)
    assert torch.isfinite(shifted_chi2_kernel(x, landmarks)).all()
    gradient = shifted_chi2_kernel_vjp(x, landmarks, torch.ones(1, 2))
    torch.testing.assert_close(gradient, torch.full((2, 4), 0.5))


def test_plain_torch_path_equals_the_compiled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x, landmarks = torch.from_numpy(sparse_features(rng, 11, 20)), torch.from_numpy(rng.normal(size=(4, 20)))
    landmarks[:, 3] = 0
    upstream = torch.from_numpy(rng.normal(size=(11, 4)))
    monkeypatch.setattr(kernel, "_BLOCK_ELEMENTS", 60)  # three rows a block
    torch.testing.assert_close(kernel._kernel_in_blocks(x, landmarks), shifted_chi2_kernel(x, landmarks))
    torch.testing.assert_close(
        kernel._vjp_in_blocks(x, landmarks, upstream), shifted_chi2_kernel_vjp(x, landmarks, upstream)
    )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_equals_the_cpu() -> None:
    rng = np.random.default_rng(4)
    x = torch.from_numpy(sparse_features(rng, 50, 200).astype(np.float32))
    landmarks = torch.from_numpy(rng.normal(size=(8, 200)).astype(np.float32) / 200).requires_grad_()
    on_cuda = landmarks.detach().cuda().requires_grad_()
    here, there = shifted_chi2_kernel(x, landmarks), shifted_chi2_kernel(x.cuda(), on_cuda)
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-6)
    here.square().sum().backward()  # type: ignore[no-untyped-call]
    there.square().sum().backward()  # type: ignore[no-untyped-call]
    assert landmarks.grad is not None
    assert on_cuda.grad is not None
    torch.testing.assert_close(on_cuda.grad.cpu(), landmarks.grad, rtol=1e-3, atol=1e-6)


def test_memory_does_not_grow_with_n_times_d_times_feature_dim() -> None:
    n, d, feature_dim = 1000, 64, 1000  # n x d x D floats would be 256 MB
    x, landmarks = torch.rand(n, feature_dim), torch.rand(d, feature_dim)
    shifted_chi2_kernel(x[:2], landmarks)  # compiled before memory is watched
    tracemalloc.start()
    shifted_chi2_kernel(x, landmarks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4e6


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(BadFeatures, match=r"\(2, 3\) and \(4, 5\)"):
        shifted_chi2_kernel(torch.ones(2, 3), torch.ones(4, 5))
    with pytest.raises(BadFeatures, match="upstream"):
        shifted_chi2_kernel_vjp(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4, 2))
    with pytest.raises(BadFeatures, match=r"torch.float32 .* torch.float64"):
        shifted_chi2_kernel(torch.ones(2, 3), torch.ones(4, 3, dtype=torch.float64))
    with pytest.raises(BadFeatures, match=r"floating numbers, got torch\.int64"):
        shifted_chi2_kernel(torch.ones(2, 3, dtype=torch.int64), torch.ones(4, 3, dtype=torch.int64))
    with pytest.raises(BadFeatures, match="detach x"):
        shifted_chi2_kernel(torch.ones(2, 3, requires_grad=True), torch.ones(4, 3))
