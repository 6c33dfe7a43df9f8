"""Someone who answers what the service asks, a tenth of it wrongly: how much better do results become?

    python -m benchmarks.simulated_user clothing10 --rounds 20 --out simulated

A real service holds the training split of an image set of $TEST_IMAGE_SETS, without categories, and starts from PCA.
Each round takes 50 pairs from GET /v1/feedback/suggestions, answers them by the labels, which the service never sees,
and runs `trainer update`; mprec@10 on the test split follows. Beside it runs what one would try first: PCA's linear
map, warm-started on the same pairs round by round. Writes curve.csv, curve.json and curve.png into --out.
Exit code 1: an accepted update lowered mprec@10 beyond noise (a paired bootstrap over test queries at 99%).
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.client import Samekind
from benchmarks.measure import header
from benchmarks.service import serving
from embedding.backbone import load_backbone
from embedding.metric import Metric
from embedding.model_file import model_from_bytes
from trainer.dataset import read_source
from trainer.evaluation import class_weights, nearest_others, precisions_of_queries
from trainer.features import default_cache_folder
from trainer.image_set import ImageSet, load_image_set
from trainer.pca import fit_pca
from trainer.run import Run
from trainer.sampling import PairIndices, generator
from trainer.update.flow import update
from trainer.update.reporter import PlainReporter
from trainer.update.resampling import mean_difference
from trainer.update.settings import UpdateSettings
from trainer.update.warm import go_on

_D, _K, _PAIRS, _WRONG = 16, 10, 50, 0.1
_RESAMPLES = 2000
_NOISE = (0.5, 99.5)  # percentiles of the interval of an update's difference

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """After one update."""

    pairs: int
    mprec_at_10: float  # percent, test split, the model that is active
    naive: float  # percent, the warm-started linear map
    outcome: str  # of the update
    difference: float  # to the model that was active before, in points
    low: float  # 99% interval of it
    high: float


class Test:
    """The test split: mprec@10 of any metric on it."""

    def __init__(self, images: ImageSet):
        self._features = images.features.astype(np.float32)
        self._known = images.classes
        self.weights = class_weights(self._known)

    def scores(self, metric: Metric) -> Scores:
        """Precision of each query, (n,)."""
        nearest = nearest_others(metric.embed(self._features), _K)
        return precisions_of_queries(nearest, self._known, [_K])[_K]

    def percent(self, scores: Scores) -> float:
        return 100 * float(self.weights @ scores)

    def interval(self, difference: Scores, round_number: int) -> tuple[float, float]:
        """In points."""
        rng = generator(0, "noise", round_number)
        return mean_difference(100 * difference, self.weights, rng, resamples=_RESAMPLES, percentiles=_NOISE)


class User:
    """Answers by the labels, some of it wrongly."""

    def __init__(self, images: ImageSet, seed: int):
        self._labels = np.array(images.labels)
        self._rng = generator(seed, "user", 0)
        self.features = images.features

    def answer(self, client: Samekind, count: int) -> PairIndices:
        """Take so many suggestions and give verdicts on them; an image's id is its row."""
        asked = [(int(each.left.id), int(each.right.id)) for each in client.suggestions(count).suggestions]
        left, right = np.array(asked, np.int64).reshape(-1, 2).T
        similar = (self._labels[left] == self._labels[right]) ^ (self._rng.random(len(asked)) < _WRONG)
        client.give_feedback(
            [(str(a), str(b), bool(same)) for a, b, same in zip(left, right, similar, strict=True)], "simulated user"
        )
        return PairIndices(left, right, similar)


class Naive:
    """PCA's linear map, warm-started on the pairs of each round."""

    def __init__(self, user: User, seed: int):
        self._user, self._seed = user, seed
        self.metric: Metric = fit_pca(user.features.astype(np.float32), _D)
        spread = np.square(self.metric.embed(user.features[:2000])).sum(1).mean()
        self._b = float(spread)  # half the mean squared distance of two images

    def learn(self, pairs: PairIndices) -> None:
        self.metric = go_on(self.metric, self._user.features, pairs, self._b, self._seed)


def main() -> int:
    options = _options()
    header(f"{options.rounds} rounds of {_PAIRS} pairs, {_WRONG:.0%} of them wrong, on {options.set}, d = {_D}")
    images = _images(options.set)
    test, train = Test(images.part("test", 0)), images.part("train", 0)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        _fill(Path(name), train)
        with serving(Path(name)) as (url, _), Samekind(url, timeout=600) as client:
            points = _rounds(client, User(train, options.seed), test, Path(name), options)
    _write(points, options)
    lowered = [point for point in points if point.outcome == "activated" and point.high < 0]
    for point in lowered:
        print(f"LOWERED at {point.pairs} pairs: {point.difference:+.2f} ({point.low:+.2f} to {point.high:+.2f})")
    return 1 if lowered else 0


def _rounds(client: Samekind, user: User, test: Test, folder: Path, options: argparse.Namespace) -> list[Point]:
    settings, naive = UpdateSettings(d=_D, seed=options.seed), Naive(user, options.seed)
    update(client, settings, Run(folder / "first"), PlainReporter(lambda _: None))
    scores = test.scores(_active(client))
    points = [Point(0, test.percent(scores), test.percent(test.scores(naive.metric)), "activated", 0, 0, 0)]
    _print(points[0], 0.0)
    given = 0
    for number in range(1, options.rounds + 1):
        begin = time.monotonic()
        pairs = user.answer(client, _PAIRS)
        given += len(pairs)
        naive.learn(pairs)
        outcome = update(client, settings, Run(folder / f"round-{number}"), PlainReporter(lambda _: None))
        before, scores = scores, test.scores(_active(client))
        difference = scores - before
        points.append(
            Point(
                given,
                test.percent(scores),
                test.percent(test.scores(naive.metric)),
                outcome.state,
                test.percent(difference),
                *test.interval(difference, number),
            )
        )
        _print(points[-1], time.monotonic() - begin)
    return points


def _active(client: Samekind) -> Metric:
    version = next(model.version for model in client.models() if model.active)
    return model_from_bytes(client.model_file(version)).metric


def _images(name: str) -> ImageSet:
    folder = Path(os.environ.get("TEST_IMAGE_SETS", "../shared/data"))
    return load_image_set(read_source(folder / f"{name}.csv"), load_backbone(), default_cache_folder())


def _fill(folder: Path, images: ImageSet) -> None:
    """Without categories. Pictures that are there twice are one image of the service, whose id is the first row."""
    with (folder / "images.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "id"])
        writer.writerows((path.absolute(), row) for row, path in enumerate(images.paths))
    command = [sys.executable, "-m", "app.cli", "ingest", str(folder / "images.csv")]
    subprocess.run([*command, "--data-dir", str(folder / "data")], check=True)


def _print(point: Point, seconds: float) -> None:
    print(
        f"{point.pairs:6} pairs: mprec@10 {point.mprec_at_10:5.2f}, naive {point.naive:5.2f}, {point.outcome}, "
        f"{point.difference:+.2f} ({point.low:+.2f} to {point.high:+.2f}), {seconds:.1f} s",
        flush=True,
    )


def _write(points: list[Point], options: argparse.Namespace) -> None:
    rows = [asdict(point) for point in points]
    with (options.out / "curve.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    said = {"set": options.set, "d": _D, "wrong": _WRONG, "seed": options.seed, "points": rows}
    (options.out / "curve.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    _draw(points, options)


def _draw(points: list[Point], options: argparse.Namespace) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    pairs = [point.pairs for point in points]
    axes.plot(pairs, [point.mprec_at_10 for point in points], color="#1c6fb8", marker="o", ms=4, label="trainer update")
    axes.plot(pairs, [point.naive for point in points], color="#b06a00", marker="v", ms=4, label="warm-started linear")
    axes.set(
        xlabel="pairs, a tenth of them wrong",
        ylabel="mprec@10 on the test split, %",
        title=f"{options.set}, d = {_D}, from PCA and no labels",
    )
    axes.grid(color="#e3e7ec")
    axes.legend()
    figure.savefig(options.out / "curve.png", dpi=150)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulated_user", description=__doc__)
    parser.add_argument("set", choices=["clothing10", "fmd", "scene15"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="folder for the curve")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
