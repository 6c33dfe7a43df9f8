"""What metric-learn's LMNN makes of two small public sets, written to data/lmnn-SET.json for test_lmnn.py.

metric-learn 0.7.0 does not run with scikit-learn 1.8 or later, so that it cannot be a test dependency: this makes an
environment of its own with pinned versions, in a temporary folder, and runs itself there. Needs a package index.

    python -m tests.trainer.methods.lmnn_reference
"""

import json
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA

PINNED = ("metric-learn==0.7.0", "scikit-learn==1.7.2", "numpy==2.4.6", "scipy==1.17.1")
DATA = Path(__file__).parent / "data"
RUNS = {"digits": ((8, 8), (8, 12)), "wine": ((5, 5), (2, 8))}  # d and how many principal components L is applied to
TARGETS, START_SCALE = 3, 3.0

Floats = npt.NDArray[np.float64]


def load(name: str) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Features (n, D) between 0 and 1, classes, and which images are for training; always the same."""
    bunch: Any = {"digits": load_digits, "wine": load_wine}[name]()
    count = min(500, len(bunch.target))
    features, labels = bunch.data[:count] / bunch.data.max(0).clip(1), bunch.target[:count].astype(np.int64)
    return features, labels, np.arange(count) % 5 < 2


def learn(name: str, d: int, reduced: int) -> dict[str, Any]:
    """Runs in the pinned environment."""
    from metric_learn import LMNN  # type: ignore[import-not-found]

    features, labels, training = load(name)
    inputs = features / np.linalg.norm(features, axis=1, keepdims=True)
    pca = PCA(reduced, svd_solver="full").fit(inputs[training])
    lmnn = LMNN(
        init=START_SCALE * np.eye(d, reduced),
        n_components=d,
        n_neighbors=TARGETS,
        regularization=0.5,
        learn_rate=1e-3,
        max_iter=20000,
        convergence_tol=1e-8,
    ).fit(pca.transform(inputs[training]), labels[training])
    weights = lmnn.components_ @ pca.components_  # (d, D)
    return {"d": d, "reduced": reduced, "iterations": int(lmnn.n_iter_), "weights": np.round(weights, 5).tolist()}


def write_results() -> None:
    versions = {package: version(package) for package in ("metric-learn", "scikit-learn", "numpy", "scipy")}
    for name, runs in RUNS.items():
        result = {"versions": versions, "runs": [learn(name, *run) for run in runs]}
        (DATA / f"lmnn-{name}.json").write_text(json.dumps(result) + "\n", encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PINNED], check=True)
        subprocess.run([python, __file__, "write"], check=True)


if __name__ == "__main__":
    write_results() if sys.argv[1:] == ["write"] else main()
