"""The shifted chi2 kernel and its derivative, the whole of the paper's nonlinearity.

    k(x, l) = sum_c 2 x_c l_c / (|x_c| + |l_c|)        dk/dl_c = 2 x_c |x_c| / (|x_c| + |l_c|)^2

Properties that matter here: k(x, x) = 1 for l1-normalised x >= 0; k(a x, a l) = a k(x, l); a bin where x is 0
adds nothing to the value and nothing to the derivative, so zeros of x are skipped; a bin where both are 0 counts as 0
(the bare formula says 0/0). |k| <= 2 ||x||_1, since l may be anything.

Not to be confused with scikit-learn's `additive_chi2_kernel`, which is -sum (x - y)^2 / (x + y).

Tensors on the CPU go through compiled, sparse-aware code (`embedding._kernel_cpu`), those on other devices through
plain torch in blocks; no array of n x d x D elements is ever made.

Source: Sharma and Schiele, ICCV 2015, the section on nonlinear embeddings (kernel, derivative and Algorithm 1).
"""

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from embedding import _kernel_cpu
from embedding.errors import BadFeatures

__all__ = ["shifted_chi2_kernel", "shifted_chi2_kernel_vjp"]

# Elements of the largest temporary of the torch path: 16 MB of float32.
_BLOCK_ELEMENTS = 4_000_000


def shifted_chi2_kernel(x: torch.Tensor, landmarks: torch.Tensor) -> torch.Tensor:
    """k(x_i, l_t) for every row of x and every landmark.

    x: (n, D), landmarks: (d, D), of one floating dtype and device; returns (n, d). Signs are free in both.
    Differentiable with respect to landmarks only.

    Raises: BadFeatures if the shapes do not fit, or if x asks for a gradient.
    """
    _check_shapes(x, landmarks)
    if x.requires_grad:
        raise BadFeatures("The kernel is differentiable in the landmarks only: detach x.")
    kernel: torch.Tensor = _ShiftedChi2Kernel.apply(x, landmarks)
    return kernel


def shifted_chi2_kernel_vjp(x: torch.Tensor, landmarks: torch.Tensor, upstream: torch.Tensor) -> torch.Tensor:
    """The vector-Jacobian product of the kernel: sum_i upstream[i, t] dk(x_i, l_t)/dl_t.

    x: (n, D), landmarks: (d, D), upstream: (n, d); returns (d, D).

    Raises: BadFeatures if the shapes do not fit.
    """
    _check_shapes(x, landmarks)
    if upstream.shape != (len(x), len(landmarks)):
        raise BadFeatures(f"upstream must be {(len(x), len(landmarks))}, got {tuple(upstream.shape)}.")
    if x.device.type == "cpu":
        product = torch.zeros_like(landmarks, memory_format=torch.contiguous_format)
        _kernel_cpu.add_vjp(_rows(x), _rows(landmarks), _rows(upstream), product.numpy())
        return product
    return _vjp_in_blocks(x, landmarks, upstream)


class _ShiftedChi2Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, landmarks: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, landmarks)
        if x.device.type == "cpu":
            return torch.from_numpy(_kernel_cpu.kernel(_rows(x), _rows(landmarks)))
        return _kernel_in_blocks(x, landmarks)

    @staticmethod
    @once_differentiable  # a second derivative would get lost in numpy
    def backward(ctx: Any, upstream: torch.Tensor) -> tuple[None, torch.Tensor]:
        x, landmarks = ctx.saved_tensors
        return None, shifted_chi2_kernel_vjp(x, landmarks, upstream)


def _kernel_in_blocks(x: torch.Tensor, landmarks: torch.Tensor) -> torch.Tensor:
    """One landmark at a time over blocks of rows: temporaries of block x D elements."""
    kernel = x.new_empty(len(x), len(landmarks))
    for rows in _row_blocks(x):
        block = x[rows]
        magnitude = block.abs()  # (block, D)
        for t, landmark in enumerate(landmarks):
            ratio = block * landmark / (magnitude + landmark.abs())  # 0/0 is NaN here
            kernel[rows, t] = 2 * ratio.nan_to_num_(nan=0.0).sum(1)
    return kernel


def _vjp_in_blocks(x: torch.Tensor, landmarks: torch.Tensor, upstream: torch.Tensor) -> torch.Tensor:
    product = torch.zeros_like(landmarks)
    for rows in _row_blocks(x):
        block = x[rows]
        magnitude = block.abs()
        for t, landmark in enumerate(landmarks):
            # The quotient is squared, not its terms: squares of tiny values would underflow to 0/0.
            ratio = (magnitude / (magnitude + landmark.abs())).nan_to_num_(nan=0.0)  # (block, D)
            product[t] += upstream[rows, t] @ (2 * block.sign() * ratio.square())
    return product


def _row_blocks(x: torch.Tensor) -> list[slice]:
    step = max(1, _BLOCK_ELEMENTS // max(1, x.shape[1]))
    return [slice(start, start + step) for start in range(0, len(x), step)]


def _rows(matrix: torch.Tensor) -> Any:
    return matrix.detach().contiguous().numpy()


def _check_shapes(x: torch.Tensor, landmarks: torch.Tensor) -> None:
    if x.ndim != 2 or landmarks.ndim != 2 or x.shape[1] != landmarks.shape[1]:
        raise BadFeatures(
            f"x must be (n, D) and landmarks (d, D) with the same D, got {tuple(x.shape)} and {tuple(landmarks.shape)}."
        )
    if not x.dtype.is_floating_point:
        raise BadFeatures(f"x and landmarks must be floating numbers, got {x.dtype}.")
    if x.dtype != landmarks.dtype or x.device != landmarks.device:
        raise BadFeatures(
            f"x and landmarks must be alike, got {x.dtype} on {x.device} and {landmarks.dtype} on {landmarks.device}."
        )
