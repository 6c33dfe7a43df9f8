"""The chi2 embedding: compiled loops against plain torch and against a linear projection of the same size."""

from functools import partial

import numpy as np
import torch

from benchmarks.measure import alternate, header, report
from embedding import kernel
from embedding.kernel import shifted_chi2_kernel, shifted_chi2_kernel_vjp


def main() -> None:
    torch.set_num_threads(1)
    header("Projection, one thread")
    for n, feature_dim, d, zeros in ((1, 1280, 16, 0.45), (500, 4096, 8, 0.76), (128, 1280, 16, 0.45)):
        x, landmarks = _features(n, feature_dim, zeros), torch.randn(d, feature_dim) / feature_dim
        upstream = torch.randn(n, d)
        print(f"n = {n}, D = {feature_dim}, d = {d}, {zeros:.0%} zeros: forward")
        report(
            alternate(
                {
                    "compiled": partial(shifted_chi2_kernel, x, landmarks),
                    "plain torch": partial(kernel._kernel_in_blocks, x, landmarks),
                    "linear": partial(torch.matmul, x, landmarks.T),
                },
                repeats=15,
            )
        )
        print(f"n = {n}, D = {feature_dim}, d = {d}, {zeros:.0%} zeros: derivative")
        report(
            alternate(
                {
                    "compiled": partial(shifted_chi2_kernel_vjp, x, landmarks, upstream),
                    "plain torch": partial(kernel._vjp_in_blocks, x, landmarks, upstream),
                },
                repeats=15,
            )
        )


def _features(n: int, feature_dim: int, zeros: float) -> torch.Tensor:
    rng = np.random.default_rng(0)
    x = rng.exponential(size=(n, feature_dim)) * (rng.random((n, feature_dim)) > zeros)
    return torch.from_numpy((x / x.sum(1, keepdims=True)).astype(np.float32))


if __name__ == "__main__":
    main()
