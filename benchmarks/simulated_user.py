"""Someone who teaches a service for twenty minutes, a tenth of it wrongly: how much better do results become?

    python -m benchmarks.simulated_user clothing10 --out simulated

A real service holds the training split of an image set of $TEST_IMAGE_SETS, without categories and without a model.
Each way of answering has a service of its own:

    pairs       verdicts about the service's suggestions, 3 s each: 20 a minute
    groups      a picture and its ten nearest, of which those of the same kind are marked, 15 s each: 4 a minute
    categories  the name of a picture's kind, 5 s each: 12 a minute

The answers come from the labels, which the service never sees; a tenth of all judgements is wrong. After every minutes
(--learn-every) the next model is learned as `trainer update` does it, and mprec@10 on the test split follows. Writes
curve.csv, curve.json and curve.png into --out. Exit code 1: a model that was taken lowered mprec@10 beyond noise (two
standard errors over the test queries).
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
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
from trainer.run import Run
from trainer.sampling import generator
from trainer.update.flow import update
from trainer.update.reporter import PlainReporter
from trainer.update.settings import UpdateSettings

_D, _K, _WRONG = 16, 10, 0.1
_PAIRS, _GROUPS, _CATEGORIES = 20, 4, 12  # a minute
_SHOWN = 10  # results beside the picture that a group begins with
_NOISE = 2.0  # standard errors

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """After one update."""

    way: str
    minutes: int
    mprec_at_10: float  # percent, test split, the model that is active
    outcome: str  # of the update
    difference: float  # to the model that was active before, in points
    error: float  # its standard error


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

    def error(self, difference: Scores) -> float:
        """Of the mean of the differences, in points."""
        mean = self.weights @ difference
        return 100 * float(np.sqrt(np.square(self.weights) @ np.square(difference - mean)))


class User:
    """Answers by the labels, some of it wrongly; an image's id is its row."""

    def __init__(self, client: Samekind, images: ImageSet, seed: int):
        self._client = client
        self._labels = np.array(images.labels)
        self._names = np.unique(self._labels)
        self._rng = generator(seed, "user", 0)
        ids = {image.id for image in client.images()}  # copies of a picture are one
        self._order = [row for row in self._rng.permutation(len(self._labels)).tolist() if str(row) in ids]

    def judge_pairs(self) -> None:
        """A minute of verdicts about suggestions."""
        asked = [(each.left.id, each.right.id) for each in self._client.suggestions(_PAIRS).suggestions]
        self._client.give_feedback([(left, right, self._alike(left, right)) for left, right in asked], "simulated user")

    def mark_groups(self) -> None:
        """A minute of marking, in the results of a search, what is of the same kind."""
        for _ in range(_GROUPS):
            asked = str(self._order.pop())
            shown = [each.id for each in self._client.search_by_id(asked, k=_SHOWN).neighbours]
            same = [asked, *(each for each in shown if self._alike(asked, each))]
            different = [each for each in shown if each not in same]
            self._client.give_feedback(groups=[(same, different)], source="simulated user")

    def name_categories(self) -> None:
        """A minute of naming kinds."""
        for _ in range(_CATEGORIES):
            row = self._order.pop()
            is_wrong = self._rng.random() < _WRONG
            name = self._rng.choice(self._names) if is_wrong else self._labels[row]
            self._client.change_image(str(row), category=str(name))

    def _alike(self, left: str, right: str) -> bool:
        return bool((self._labels[int(left)] == self._labels[int(right)]) ^ (self._rng.random() < _WRONG))


WAYS: dict[str, Callable[[User], None]] = {
    "pairs": User.judge_pairs,
    "groups": User.mark_groups,
    "categories": User.name_categories,
}


def main() -> int:
    options = _options()
    header(f"{options.minutes} minutes, {_WRONG:.0%} of all judgements wrong, on {options.set}, d = {_D}")
    images = _images(options.set)
    test, train = Test(images.part("test", 0)), images.part("train", 0)
    options.out.mkdir(parents=True, exist_ok=True)
    points: list[Point] = []
    for way in options.ways.split(","):
        with tempfile.TemporaryDirectory() as name:
            _fill(Path(name), train)
            with serving(Path(name)) as (url, _), Samekind(url, timeout=600) as client:
                points += _taught(client, way, User(client, train, options.seed), test, Path(name), options)
        _write(points, options)
    lowered = [each for each in points if each.outcome == "activated" and each.difference < -_NOISE * each.error]
    for point in lowered:
        print(f"LOWERED: {point}")
    return 1 if lowered else 0


def _taught(
    client: Samekind, way: str, user: User, test: Test, folder: Path, options: argparse.Namespace
) -> list[Point]:
    settings = UpdateSettings(d=_D, seed=options.seed)
    scores = test.scores(_active(client))
    points = [Point(way, 0, test.percent(scores), "start", 0.0, 0.0)]
    print(points[0], flush=True)
    for minute in range(1, options.minutes + 1):
        WAYS[way](user)
        if minute % options.learn_every:
            continue
        begin = time.monotonic()
        outcome = update(client, settings, Run(folder / f"minute-{minute}"), PlainReporter(lambda _: None))
        before, scores = scores, test.scores(_active(client))
        difference = scores - before
        gain, error = test.percent(difference), test.error(difference)
        points.append(Point(way, minute, test.percent(scores), outcome.state, gain, error))
        print(points[-1], f"{time.monotonic() - begin:.0f} s", flush=True)
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
    options = ["--data-dir", str(folder / "data"), "--failures", str(folder / "failures.csv")]
    subprocess.run([*command, *options], check=True)


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
    styles = {"pairs": ("#b06a00", "v"), "groups": ("#1c6fb8", "o"), "categories": ("#2c7d4f", "s")}
    for way, (colour, marker) in styles.items():
        own = [point for point in points if point.way == way]
        axes.plot([p.minutes for p in own], [p.mprec_at_10 for p in own], color=colour, marker=marker, ms=4, label=way)
    axes.set(
        xlabel="minutes of a person, a tenth of all judgements wrong",
        ylabel="mprec@10 on the test split, %",
        title=f"{options.set}, d = {_D}, from no labels",
    )
    axes.grid(color="#e3e7ec")
    axes.legend()
    figure.savefig(options.out / "curve.png", dpi=150)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulated_user", description=__doc__)
    parser.add_argument("set", choices=["clothing10", "fmd", "scene15", "flowers102"])
    parser.add_argument("--minutes", type=int, default=20)
    parser.add_argument("--learn-every", type=int, default=1, help="minutes between two updates")
    parser.add_argument("--ways", default=",".join(WAYS), help="of answering, separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="folder for the curve")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
