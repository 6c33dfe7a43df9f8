"""Search by several examples: how much negatives should weigh, and against other rules.

    python -m benchmarks.examples FOLDER    with scene15, fmd and clothing10, each as NAME.csv and NAME/

A model learns from half of each set's training split, the other half is the collection; test splits are not touched.
Each image of the collection is a query once: of its ten nearest, a user marks up to p right ones and up to q wrong
ones, and searches again. The query counts as one more positive. Queries without a right or without a wrong one among
their ten nearest are left out. What is printed is precision at 10, in percent, without the query and what was marked.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.measure import header
from embedding.backbone import Backbone, load_backbone
from trainer.config import Network
from trainer.dataset import Source, held_out, read_source
from trainer.features import default_cache_folder
from trainer.image_set import load_image_set
from trainer.methods.method import TrainingSet
from trainer.methods.nml import Nml

SETS = ("scene15", "fmd", "clothing10")
DRAWS = (0, 1)
D_SMALL, K = 16, 10
WEIGHTS = (0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6)
MARKS = tuple(product((1, 2, 3), (1, 2, 3)))  # (p, q)

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Collection:
    embeddings: Floats  # (n, d)
    classes: npt.NDArray[np.int64]  # (n,)

    @property
    def same(self) -> Mask:
        """Which two images are of one class, (n, n)."""
        return np.asarray(self.classes[:, None] == self.classes)


@dataclass(frozen=True)
class Marked:
    """What users said: row i belongs to the i-th query."""

    positives: Mask  # (r, n), the query among them
    negatives: Mask  # (r, n)
    right: Mask  # (r, n): of the query's class


# Ranks the collection (n, d) for each of the users' searches: the smaller, the nearer. Returns (r, n).
Rule = Callable[[Floats, Marked], Floats]


def main(folder: Path) -> None:
    header(f"Search by examples, nml-deep, d = {D_SMALL}, precision@{K} in percent, {len(DRAWS)} draws")
    backbone = load_backbone()
    rules = all_rules()
    scores = np.array([[_scores(_collection(folder, name, draw, backbone), rules) for draw in DRAWS] for name in SETS])
    scores = scores.mean(axis=1)  # (sets, marks, rules)
    _table("all (p, q)", [*SETS, "average"], rules, [*scores.mean(axis=1), scores.mean(axis=(0, 1))])
    _table("average of the sets", [f"p{p} q{q}" for p, q in MARKS], rules, list(scores.mean(axis=0)))


def all_rules() -> dict[str, Rule]:
    return {f"w = {weight}": _moved_mean(weight) for weight in WEIGHTS} | {
        "mean distance to positives": lambda embeddings, marked: _mean(_distances(embeddings), marked.positives),
        "nearest positive": lambda embeddings, marked: _least(_distances(embeddings), marked.positives),
        "nearest positive / nearest negative": _ratio,
    }


def _moved_mean(weight: float) -> Rule:
    """c = mean(positives) + w / (1 - w) (mean(positives) - mean(negatives)); nearest to c."""

    def rule(embeddings: Floats, marked: Marked) -> Floats:
        positive, negative = (_mean(embeddings.T, mask) for mask in (marked.positives, marked.negatives))  # (r, d)
        centre = positive + weight / (1 - weight) * (positive - negative)
        return _distances(embeddings, centre)

    return rule


def _ratio(embeddings: Floats, marked: Marked) -> Floats:
    """Giacinto and Roli, Instance-based relevance feedback for image retrieval, NIPS 2004."""
    distances = _distances(embeddings)
    least = _least(distances, marked.positives)
    return least / np.maximum(least + _least(distances, marked.negatives), np.finfo(np.float64).tiny)


def _distances(embeddings: Floats, centres: Floats | None = None) -> Floats:
    """From each centre, or from each embedding, to each embedding."""
    centres = embeddings if centres is None else centres
    squared = np.square(centres).sum(axis=1)[:, None] + np.square(embeddings).sum(axis=1) - 2 * centres @ embeddings.T
    return np.asarray(np.sqrt(np.maximum(squared, 0)))


def _mean(values: Floats, mask: Mask) -> Floats:
    """values (m, n), mask (r, n) -> (r, m), the mean of the values where the mask is set."""
    return np.asarray(mask @ values.T / mask.sum(axis=1, keepdims=True))


def _least(distances: Floats, mask: Mask) -> Floats:
    """distances (n, n), mask (r, n) -> (r, n), the least over the images where the mask is set."""
    return np.array([distances[chosen].min(axis=0) for chosen in mask])


def _collection(folder: Path, name: str, draw: int, backbone: Backbone) -> Collection:
    source = _training_part(read_source(folder / f"{name}.csv"))
    images = load_image_set(source, backbone, default_cache_folder() / "features")
    classes = np.unique(images.labels or [], return_inverse=True)[1]
    out = held_out(images.digests, images.labels, 0.5, f"examples {draw}")
    features = images.features.astype(np.float32)
    fitted = Nml(Network()).fit(TrainingSet(features[~out], classes[~out]), D_SMALL, draw)
    return Collection(fitted.embed(features[out]).astype(np.float64), classes[out])


def _training_part(source: Source) -> Source:
    """Test images are not even extracted."""
    rows = [i for i, split in enumerate(source.splits or []) if split == "train"]
    labels = source.labels or []
    return replace(source, paths=[source.paths[i] for i in rows], labels=[labels[i] for i in rows], splits=None)


def _scores(collection: Collection, rules: dict[str, Rule]) -> list[list[float]]:
    """Precision of each rule (inner) for each (p, q) (outer)."""
    scores = []
    for marked in _users(collection):
        seen = marked.positives | marked.negatives
        scores.append([_precision(rule(collection.embeddings, marked), seen, marked.right) for rule in rules.values()])
    return scores


def _users(collection: Collection) -> Iterator[Marked]:
    n, same = len(collection.classes), collection.same
    distances = _distances(collection.embeddings)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :K]
    right = np.take_along_axis(same, nearest, axis=1)  # (n, K)
    mixed = right.any(axis=1) & ~right.all(axis=1)
    for p, q in MARKS:
        positives, negatives = np.eye(n, dtype=bool), np.zeros((n, n), bool)
        for marks, chosen, most in ((positives, right, p), (negatives, ~right, q)):
            rows, places = np.nonzero(chosen & (np.cumsum(chosen, axis=1) <= most))
            marks[rows, nearest[rows, places]] = True
        yield Marked(positives[mixed], negatives[mixed], same[mixed])


def _precision(distances: Floats, seen: Mask, right: Mask) -> float:
    nearest = np.argpartition(np.where(seen, np.inf, distances), K, axis=1)[:, :K]
    return 100 * float(np.take_along_axis(right, nearest, axis=1).mean())


def _table(title: str, columns: list[str], rules: dict[str, Rule], scores: list[npt.NDArray[np.floating]]) -> None:
    """scores: one column of values a rule each."""
    print(f"\n| {title} | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for name, row in zip(rules, np.transpose(scores), strict=True):
        print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in row) + " |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
