"""The chi2 embedding and the network of Hellinger units: compiled loops against plain torch or numpy, and against a
linear projection of the same size.
"""

from functools import partial

import numpy as np
import torch

from benchmarks.measure import alternate, header, report
from embedding import kernel
from embedding.hellinger import HellingerNetwork
from embedding.kernel import shifted_chi2_kernel, shifted_chi2_kernel_vjp
from embedding.metric import l1_normalised, l2_normalised


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
    for n in (1, 500):
        _network(n, feature_dim=1280, hidden=512, d=16)


def _network(n: int, feature_dim: int, hidden: int, d: int) -> None:
    rng = np.random.default_rng(0)
    shapes = ((feature_dim, hidden), (hidden,), (d, hidden), (feature_dim, d), (d,))
    network = HellingerNetwork(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))
    x = _features(n, feature_dim, zeros=0.45).numpy()

    def products() -> None:
        """The same by matrix products, which round differently for one row than for many."""
        roots = np.sqrt(l1_normalised(x))
        units = np.maximum(roots @ network.units + network.unit_offset, 0)
        l2_normalised(units @ network.weights.T + roots @ network.direct + network.offset)

    print(f"n = {n}, D = {feature_dim}, {hidden} units, d = {d}: features to embeddings by deep NML")
    report(alternate({"compiled": partial(network.embed, x), "matrix products": products}, repeats=15))


def _features(n: int, feature_dim: int, zeros: float) -> torch.Tensor:
    rng = np.random.default_rng(0)
    x = rng.exponential(size=(n, feature_dim)) * (rng.random((n, feature_dim)) > zeros)
    return torch.from_numpy((x / x.sum(1, keepdims=True)).astype(np.float32))


if __name__ == "__main__":
    main()
