"""From features to embeddings: the chi2 kernel and the network of Hellinger units, beside plain torch or numpy and a
linear projection of the same size.

    python -m benchmarks.projection --json projection.json

Targets: 500 images at D = 4096, d = 8 in at most 10 ms and at most twice what the linear projection takes, both from
features as they are stored to embeddings; 100,000 stored features (float16, D = 1280) to d = 16 in at most 10 s. At 76%
zeros rows go through all features, at 95% they skip zeros.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.measure import alternate, header, report, write_json
from benchmarks.start_up import drawn_features, random_model
from embedding import kernel
from embedding.hellinger import HellingerNetwork
from embedding.kernel import shifted_chi2_kernel, shifted_chi2_kernel_vjp
from embedding.metric import Chi2Metric, LinearMetric, Metric, l1_normalised, l2_normalised

TARGET_MS, TARGET_S = 10.0, 10.0
STORED, BLOCK = 100_000, 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    path = parser.parse_args().json
    torch.set_num_threads(1)
    header("Projection, one thread")
    result = {f"500 images, {zeros:.0%} zeros": _whole(zeros) for zeros in (0.76, 0.95)}
    result |= {f"{STORED} stored features, {name}": _stored(metric) for name, metric in _metrics(1280, 16).items()}
    write_json(path, result)
    _kernel()
    for n in (1, 500):
        _network(n, feature_dim=1280, hidden=512, d=16)


def _metrics(feature_dim: int, d: int) -> dict[str, Metric]:
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=(d, feature_dim)) / feature_dim).astype(np.float32)
    metrics: dict[str, Metric] = {"linear": LinearMetric(weights, np.zeros(d, np.float32)), "chi2": Chi2Metric(weights)}
    return metrics | ({"deep NML": random_model().metric} if (feature_dim, d) == (1280, 16) else {})


def _whole(zeros: float) -> dict[str, list[float]]:
    """Stored features of 500 images to embeddings: linear, then ours."""
    x = (1000 * _features(500, 4096, zeros).numpy()).astype(np.float16)
    metrics = _metrics(4096, 8)
    timings = alternate({name: partial(metric.embed, x) for name, metric in metrics.items()}, repeats=25)
    print(f"n = 500, D = 4096, d = 8, {zeros:.0%} zeros: from stored features; target {TARGET_MS:g} ms, 2 times linear")
    report(timings)
    return {timing.name: timing.seconds for timing in timings}


def _stored(metric: Metric) -> dict[str, Any]:
    """Some blocks of them; the seconds are scaled to all."""
    block = drawn_features(0, BLOCK)
    (timing,) = alternate({metric.kernel: partial(metric.embed, block)}, repeats=5)
    seconds = [each * STORED / BLOCK for each in timing.seconds]
    print(
        f"{STORED:,} stored features by {metric.kernel}: {timing.median * STORED / BLOCK:.1f} s "
        f"({min(seconds):.1f} to {max(seconds):.1f}); target {TARGET_S:g} s"
    )
    return {"seconds": seconds}


def _kernel() -> None:
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
