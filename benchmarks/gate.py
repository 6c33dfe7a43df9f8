"""How often does the gate take a model that is worse, and how often does it refuse one that is better?

    python -m benchmarks.gate --updates 200 --out gate.csv

Each update is of another collection: some kinds and pictures of an image set of $TEST_IMAGE_SETS, some of them with
categories, some pairs judged, a share of all that wrong. A former model was learned from that (or is principal
components); then something is added, corrected, taken away or answered wrongly on purpose, and the next model is
learned and compared as `trainer update` does it. What both are worth is known from the test split. Rows are appended to
--out; killed, the same command goes on. Prints the shares of updates that took a model worse by more than a point, and
that refused one better by more than a point.
"""

import argparse
import csv
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.measure import header
from embedding.backbone import load_backbone
from embedding.metric import Metric
from embedding.model_file import Model
from trainer.choice import family, suggested
from trainer.config import TIME_BUDGET_S, TrainConfig
from trainer.dataset import read_source
from trainer.evaluation import mean_precision_at_k
from trainer.features import default_cache_folder
from trainer.image_set import ImageSet, load_image_set
from trainer.learner import fit_member, learn
from trainer.learning_set import LearningSet
from trainer.pca import fit_pca
from trainer.sampling import PairIndices, generator
from trainer.update.gate import Former, compare, is_taken

_SETS = ("clothing10", "fmd", "scene15", "flowers102")
_D, _K, _POINT = 16, 10, 1.0
_MOST_TEST = 1000  # pictures of the test split
_CHANGES = ("labels", "pairs", "both", "corrections", "wrong answers", "fewer labels")
_COLUMNS = ("update", "set", "kinds", "pictures", "labelled", "pairs", "former", "change", "chosen")
_RESULTS = ("before", "after", "verdict", "taken", "measures")

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class State:
    """What is known of n pictures."""

    labels: Labels  # (n,), as people gave them; -1: none
    pairs: PairIndices

    def learning_set(self, images: ImageSet) -> LearningSet:
        labels = [None if label < 0 else f"kind {label}" for label in self.labels]
        return LearningSet.of(images.digests, images.features, labels, self.pairs)


@dataclass(frozen=True)
class Draw:
    """One collection and what happens to it."""

    name: str
    images: ImageSet  # n
    test: ImageSet
    kinds: Labels  # (n,), the truth
    before: State
    after: State
    change: str
    is_first: bool  # whether principal components are what is replaced


def main() -> None:
    options = _options()
    header(f"{options.updates} updates, d = {_D}")
    sets = {name: _load(name) for name in _SETS}
    rows = _read(options.out)
    for number in range(len(rows), options.updates):
        row = _row(number, _drawn(sets, number))
        rows.append(row)
        _append(options.out, row)
        print({name: row[name] for name in (*_COLUMNS, *_RESULTS)}, flush=True)
    _summarise(rows)


def _row(number: int, draw: Draw) -> dict[str, object]:
    images = draw.images
    former = _former(draw)
    data = draw.after.learning_set(images)
    row: dict[str, object] = {
        "update": number,
        "set": draw.name,
        "kinds": len(np.unique(draw.kinds)),
        "pictures": len(images.digests),
        "labelled": int(data.has_label.sum()),
        "pairs": len(data.pairs),
        "former": "pca" if former.data is None else "learned",
        "change": draw.change,
    }
    learned = learn(data, TrainConfig(d=_D, time_budget_s=TIME_BUDGET_S))
    comparison = compare(data, learned, former)
    measures = ";".join(
        f"{each.name}:{each.difference:.4f}:{(each.high - each.low) / 3.92:.4f}:{each.count}"
        for each in comparison.measures
    )
    return row | {
        "chosen": learned.choice.name,
        "before": round(_worth(former.model.metric, draw.test), 2),
        "after": round(_worth(learned.metric, draw.test), 2),
        "verdict": comparison.verdict,
        "taken": is_taken(comparison, former),
        "measures": measures,
    }


def _former(draw: Draw) -> Former:
    images, known = draw.images, draw.before.learning_set(draw.images)
    backbone = load_backbone().identity
    if draw.is_first or not known.learnable:
        metric: Metric = fit_pca(images.features.astype(np.float32), min(_D, len(images.digests) - 1))
        return Former(Model("pca", metric, backbone, b=0.1), None, grown=True)
    config = family(TrainConfig(d=_D, time_budget_s=TIME_BUDGET_S))[suggested(known)]
    model = Model("nml-deep", fit_member(known, config), backbone, b=1.0, training={"config": config.to_json()})
    return Former(model, known, grown=draw.change not in ("corrections", "fewer labels"))


def _worth(metric: Metric, test: ImageSet) -> float:
    """mprec@10 on the test split, percent."""
    return 100 * mean_precision_at_k(metric.embed(test.features), test.classes, _K)


def _drawn(sets: dict[str, ImageSet], number: int) -> Draw:
    rng = generator(0, "gate", number)
    name = str(rng.choice(_SETS))
    train, test = sets[name].part("train", 0), sets[name].part("test", 0)
    names = np.unique(np.array(train.labels))
    kinds = rng.choice(names, int(rng.integers(4, min(len(names), 60) + 1)), replace=False)
    train, test = (part.where(np.isin(np.array(part.labels), kinds)) for part in (train, test))
    n = min(len(train.digests), int(math.exp(rng.uniform(math.log(80), math.log(1200)))))
    images, tested = _some(train, n, rng), _some(test, _MOST_TEST, rng)
    truth = np.unique(np.array(images.labels), return_inverse=True)[1]
    wrong = float(rng.choice([0.0, 0.0, 0.1, 0.2]))
    before = _said(truth, float(rng.choice([0, 0.1, 0.3, 0.6, 1])), int(rng.choice([0, 60, 200, 600])), wrong, rng)
    change = str(rng.choice(_CHANGES))
    after = _changed(before, truth, change, wrong, rng)
    if not after.learning_set(images).learnable:  # nothing is known of it: judge some pairs
        after = replace(after, pairs=_judged(truth, 100, wrong, rng))
    return Draw(name, images, tested, truth, before, after, change, bool(rng.random() < 0.25))


def _changed(state: State, truth: Labels, change: str, wrong: float, rng: np.random.Generator) -> State:
    labels, pairs = state.labels.copy(), state.pairs
    free = rng.permutation(np.flatnonzero(labels < 0))
    more = free[: max(10, int(len(free) * rng.uniform(0.1, 0.6)))]
    if change in ("labels", "both", "wrong answers"):
        share = float(rng.uniform(0.4, 1)) if change == "wrong answers" else wrong
        labels[more] = _mistaken(truth, share, rng)[more]
    if change in ("pairs", "both", "wrong answers"):
        share = float(rng.uniform(0.4, 0.7)) if change == "wrong answers" else wrong
        pairs = _joined(pairs, _judged(truth, int(rng.integers(30, 400)), share, rng))
    if change == "corrections":
        labels = np.where(labels >= 0, truth, labels)
    if change == "fewer labels":
        labels[rng.random(len(labels)) < rng.uniform(0.1, 0.6)] = -1
    return State(labels, pairs)


def _said(truth: Labels, labelled: float, pairs: int, wrong: float, rng: np.random.Generator) -> State:
    has_label = rng.random(len(truth)) < labelled
    return State(np.where(has_label, _mistaken(truth, wrong, rng), -1), _judged(truth, pairs, wrong, rng))


def _mistaken(truth: Labels, share: float, rng: np.random.Generator) -> Labels:
    is_wrong = rng.random(len(truth)) < share
    return np.where(is_wrong, rng.integers(truth.max() + 1, size=len(truth)), truth)


def _judged(truth: Labels, count: int, wrong: float, rng: np.random.Generator) -> PairIndices:
    """Random pairs, about a third of them similar, as people see them in results."""
    left = rng.integers(len(truth), size=count)
    same = np.array([rng.choice(np.flatnonzero(truth == truth[i])) for i in left], np.int64)
    right = np.where(rng.random(count) < 1 / 3, same, rng.integers(len(truth), size=count))
    apart = left != right
    similar = (truth[left] == truth[right]) ^ (rng.random(count) < wrong)
    return PairIndices(left[apart], right[apart], similar[apart])


def _joined(one: PairIndices, other: PairIndices) -> PairIndices:
    parts = zip((one.left, one.right, one.similar), (other.left, other.right, other.similar), strict=True)
    return PairIndices(*(np.concatenate(part) for part in parts))


def _some(images: ImageSet, count: int, rng: np.random.Generator) -> ImageSet:
    chosen = np.zeros(len(images.digests), bool)
    chosen[rng.permutation(len(chosen))[:count]] = True
    return images.where(chosen)


def _load(name: str) -> ImageSet:
    folder = Path(os.environ.get("TEST_IMAGE_SETS", "../shared/data"))
    images = load_image_set(read_source(folder / f"{name}.csv"), load_backbone(), default_cache_folder())
    return images.without_contradictions()


def _read(path: Path) -> list[dict[str, object]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [dict(row) for row in csv.DictReader(file)]


def _append(path: Path, row: dict[str, object]) -> None:
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*_COLUMNS, *_RESULTS])
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def _summarise(rows: list[dict[str, object]]) -> None:
    gains = np.array([float(str(row["after"])) - float(str(row["before"])) for row in rows])
    taken = np.array([str(row["taken"]) == "True" for row in rows])
    print(f"{len(rows)} updates: {(gains < -_POINT).mean():.1%} made a model worse by more than {_POINT:g} point")
    print(f"taken although worse by more than {_POINT:g} point: {(taken & (gains < -_POINT)).mean():.1%}")
    print(f"refused although better by more than {_POINT:g} point: {(~taken & (gains > _POINT)).mean():.1%}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--out", type=Path, required=True, help="CSV of the updates")
    return parser.parse_args()


if __name__ == "__main__":
    main()
