"""Training to equal mprec@10: ours beside what people train today, on one real set.

    pip install -e '.[compare]'
    python -m benchmarks.training fmd --json training.json --plot training.png

The set is one of $TEST_IMAGE_SETS with its own split; all methods learn from the same features of its training part at
d = 16, in one thread. Each is fitted anew with more and more steps, so that a point of its curve is a whole fit:
processor seconds against mprec@10 on the test part. How long a method needs for a level is the least time of a fit that
reaches it; the level is the best of the weakest method, less a tenth of a point. Settings are the trainer's defaults,
chosen on validation data of training splits. scikit-learn's NCA and LMNN descend on all images at once, the heads are
those of pytorch-metric-learning.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np

from benchmarks.measure import header, write_json
from embedding.backbone import load_backbone
from embedding.metric import l1_normalised
from trainer.config import MiniBatch, Network
from trainer.dataset import read_source
from trainer.discriminant import pair_discriminant
from trainer.evaluation import mean_precisions, nearest_others
from trainer.features import default_cache_folder
from trainer.image_set import load_image_set
from trainer.methods.fitted import MetricFitted
from trainer.methods.heads import Head
from trainer.methods.lmnn import Lmnn
from trainer.methods.method import Fitted, FloatMatrix, Method, TrainingSet
from trainer.methods.nml import Nml
from trainer.methods.projections import NCA
from trainer.sampling import Labels
from trainer.threads import one_thread

mpl.use("Agg")

from matplotlib import pyplot as plt

_D_SMALL, _K = 16, 10
_TOLERANCE = 0.1  # points of mprec@10
_STEPS = (25, 50, 100, 200, 400, 800)
_DESCENTS = (1, 2, 5, 10, 20, 40)
_PAIRS = (1_000, 10_000)


@dataclass(frozen=True)
class _PairDiscriminant:
    """What `trainer update` learns from few pairs, in closed form; here all images have labels too."""

    pairs: int

    def fit(self, data: TrainingSet, d: int, seed: int) -> Fitted:
        features, labels = data.single_labelled()
        return MetricFitted(
            pair_discriminant(l1_normalised(features), labels, data.drawn_pairs(self.pairs, seed), d, seed)
        )


# Of a number of steps, a method that takes so many.
Maker = Callable[[int], Method]
METHODS: dict[str, tuple[Maker, Sequence[int]]] = {
    "NML": (lambda steps: Nml(MiniBatch(steps=steps)), _STEPS),
    "deep NML": (lambda steps: Nml(Network(steps=steps)), _STEPS),
    "pair discriminant": (lambda pairs: _PairDiscriminant(pairs), _PAIRS),
    "scikit-learn NCA": (lambda iterations: NCA(iterations=iterations), _DESCENTS),
    "LMNN": (lambda iterations: Lmnn(256, iterations=iterations), _DESCENTS),
    "pytorch-metric-learning, linear, contrastive": (lambda steps: Head("linear", "contrastive", steps), _STEPS),
    "pytorch-metric-learning, MLP, multi-similarity": (lambda steps: Head("mlp", "multi-similarity", steps), _STEPS),
}


@dataclass(frozen=True)
class Point:
    """What fits of so many steps gave, the median of several seeds."""

    steps: int
    seconds: float  # of the processor
    mprec_at_10: float  # in percent


def main() -> int:
    options = _options()
    header(f"Training on {options.set}, d = {_D_SMALL}, {options.seeds} seeds")
    train, test, classes = _parts(options.set)
    curves = {
        name: [_point(make, steps, options.seeds, train, test, classes) for steps in counts[: options.points]]
        for name, (make, counts) in METHODS.items()
    }
    level = min(max(point.mprec_at_10 for point in curve) for curve in curves.values()) - _TOLERANCE
    needed = {name: _seconds_to(level, curve) for name, curve in curves.items()}
    _print(curves, level, needed)
    rows = {name: [asdict(point) for point in curve] for name, curve in curves.items()}
    write_json(options.json, {"set": options.set, "level": level, "seconds_to_level": needed, "curves": rows})
    if options.plot:
        _draw(options.plot, options.set, curves)
    return 0


def _parts(name: str) -> tuple[TrainingSet, FloatMatrix, Labels]:
    """What is learned from; features (n, D) and classes (n,) of the test part."""
    source = read_source(Path(os.environ.get("TEST_IMAGE_SETS", ".")) / f"{name}.csv")
    images = load_image_set(source, load_backbone(), default_cache_folder() / "features")
    train, test = images.part("train", 0).without_contradictions(), images.part("test", 0)
    classes = np.asarray(test.classes)
    return TrainingSet(train.features.astype(np.float32), train.classes), test.features.astype(np.float32), classes


def _point(make: Maker, steps: int, seeds: int, train: TrainingSet, test: FloatMatrix, classes: Labels) -> Point:
    """Whatever is compiled or loaded at first is not counted: the first fit is done twice."""
    fits = [_fit(make(steps), seed, train, test, classes) for seed in (0, *range(seeds))][1:]
    seconds, scores = zip(*fits, strict=True)
    return Point(steps, float(np.median(seconds)), float(np.median(scores)))


def _fit(method: Method, seed: int, train: TrainingSet, test: FloatMatrix, classes: Labels) -> tuple[float, float]:
    """Seconds of the processor, mprec@10 in percent."""
    with one_thread():
        begin = time.process_time()
        fitted = method.fit(train, _D_SMALL, seed)
        seconds = time.process_time() - begin
        nearest = nearest_others(fitted.embed(test), _K, fitted.distance)
    return seconds, 100 * mean_precisions(nearest, classes, [_K])[_K]


def _seconds_to(level: float, curve: Sequence[Point]) -> float | None:
    return min((point.seconds for point in curve if point.mprec_at_10 >= level), default=None)


def _print(curves: dict[str, list[Point]], level: float, needed: dict[str, float | None]) -> None:
    ours = needed["deep NML"]
    print(f"seconds to {level:.1f}% mprec@{_K}; then steps: seconds, mprec@{_K} of each fit")
    for name, curve in curves.items():
        seconds = needed[name]
        ratio = f"{seconds / ours:.2f} times deep NML" if seconds and ours else "-"
        points = "; ".join(f"{point.steps}: {point.seconds:.2f} s, {point.mprec_at_10:.1f}" for point in curve)
        print(f"  {name}: {'not reached' if seconds is None else f'{seconds:.2f} s'}, {ratio} | {points}")


def _draw(path: Path, name: str, curves: dict[str, list[Point]]) -> None:
    figure, axes = plt.subplots(figsize=(8, 4.8), layout="constrained")
    for title, curve in curves.items():
        axes.plot(
            [point.seconds for point in curve], [point.mprec_at_10 for point in curve], marker="o", ms=4, label=title
        )
    axes.set(
        xscale="log",
        xlabel="seconds of one core",
        ylabel=f"mprec@{_K} on the test part, %",
        title=f"{name}, d = {_D_SMALL}: what training gives for its time",
    )
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=["clothing10", "fmd", "scene15"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--points", type=int, default=len(_STEPS), help="of each curve: fewer are faster")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="a PNG")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
