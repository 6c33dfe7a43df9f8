"""One-pair SGD (Algorithm 1): ours against the same steps in numpy, at the paper's D = 4096, d = 8, 76% zeros.

    python -m benchmarks.one_pair_sgd --json one_pair_sgd.json

Target: 10^6 iterations over 500,000 pairs in at most 15 s. The paper reports about an hour.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.measure import alternate, header, report, write_json
from trainer.one_pair import SparseRows, descend
from trainer.sampling import PairIndices

N, FEATURE_DIM, D_SMALL, ZEROS = 4000, 4096, 8, 0.76
STEPS = 2000  # of the comparison: numpy would take an hour for all
ITERATIONS, PAIRS = 1_000_000, 500_000
R, B, M = 1e-3, 0.1, 0.02
TARGET_S, PAPER_S = 15.0, 3600.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    path = parser.parse_args().json
    rng = np.random.default_rng(0)
    x = rng.exponential(size=(N, FEATURE_DIM)) * (rng.random((N, FEATURE_DIM)) > ZEROS)
    x = (x / x.sum(1, keepdims=True)).astype(np.float32)
    rows = SparseRows.of(x)
    left, right = rng.integers(N, size=(2, STEPS))
    pairs = PairIndices(left, right, rng.random(STEPS) < 0.5)
    start = rng.uniform(-1 / FEATURE_DIM, 1 / FEATURE_DIM, (D_SMALL, FEATURE_DIM)).astype(np.float32)
    header(f"One-pair SGD, {STEPS} steps, D = {FEATURE_DIM}, d = {D_SMALL}, {ZEROS:.0%} zeros, one thread")
    timings = alternate(
        {
            "compiled": lambda: descend(rows, start.copy(), pairs, learning_rate=R, b=B, m=M),
            "numpy": lambda: _descend_numpy(x, start.copy(), pairs),
        },
        repeats=3,
    )
    report(timings)
    in_full = _paper_scale(rows, start)
    write_json(path, {"in_full_s": in_full, **{timing.name: timing.seconds for timing in timings}})


def _paper_scale(rows: SparseRows, start: npt.NDArray[np.float32]) -> float:
    """The paper's own size, run in full: 10^6 iterations over 500,000 pairs, where it reports about an hour."""
    rng = np.random.default_rng(1)
    left, right = rng.integers(N, size=(2, PAIRS))
    pairs = PairIndices(left, right, rng.random(PAIRS) < 0.5).take(rng.integers(PAIRS, size=ITERATIONS))
    begin = time.perf_counter()
    violations = sum(descend(rows, start.copy(), pairs, learning_rate=R, b=B, m=M))
    seconds = time.perf_counter() - begin
    print(
        f"  {ITERATIONS} iterations in full: {seconds:.1f} s ({violations / ITERATIONS:.0%} of them violations), "
        f"{seconds / TARGET_S:.2f} times the target of {TARGET_S:g} s; the paper's hour is "
        f"{PAPER_S / seconds:.0f} times as long"
    )
    return seconds


def _descend_numpy(x: npt.NDArray[np.float32], L: npt.NDArray[np.float32], pairs: PairIndices) -> None:
    """As one would write it from the paper, with the zero bins guarded."""
    for i, j, similar in zip(pairs.left, pairs.right, pairs.similar, strict=True):
        y = 1 if similar else -1
        totals = [np.maximum(x[a] + np.abs(L), 1e-30) for a in (i, j)]
        k_i, k_j = ((2 * x[a] * L / total).sum(1) for a, total in zip((i, j), totals, strict=True))
        if y * (B - ((k_i - k_j) ** 2).sum()) < M:
            g_i, g_j = (2 * (x[a] / total) ** 2 for a, total in zip((i, j), totals, strict=True))
            L -= R * y * (k_i - k_j)[:, None] * (g_i - g_j)


if __name__ == "__main__":
    main()
