"""What an engine's rounding does to retrieval: mprec@10 with the features that each engine gives.

Every model is fitted twice: to the engine's own features, and to those of torch in float32, which is how a model
learned elsewhere meets them. Test images are asked once everything is set.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from embedding.backbone import Backbone
from trainer.dataset import read_source
from trainer.evaluation import mean_precision_at_k
from trainer.image_set import ImageSet, load_image_set
from trainer.methods.method import TrainingSet
from trainer.methods.registry import METHODS

__all__ = ["print_quality", "quality"]

_METHODS = ("pca", "nml-deep")
_SEEDS = (0, 1, 2)  # of which the mean is taken where a method draws
_D_SMALL, _K = 16, 10
_BOUND = 0.2  # points of mprec@10 that an engine may differ by


def quality(name: str, backbones: Mapping[str, Backbone]) -> dict[str, dict[str, float]]:
    """mprec@10 in percent by engine and by "method, features that it was fitted to". The first engine is the one that
    others are compared with.
    """
    source = read_source(Path(os.environ.get("TEST_IMAGE_SETS", ".")) / f"{name}.csv")
    with tempfile.TemporaryDirectory() as cache:  # a new one: old features would prove nothing
        images = {title: load_image_set(source, each, Path(cache) / title) for title, each in backbones.items()}
    reference = next(iter(images.values()))
    return {title: _scores(own, reference) for title, own in images.items()}


def _scores(images: ImageSet, reference: ImageSet) -> dict[str, float]:
    test = images.part("test", 0)
    return {
        f"{method}, {fitted_to}": float(np.mean([_score(method, seed, train, test) for seed in _seeds(method)]))
        for method in _METHODS
        for fitted_to, train in (("fitted to its own", images), ("fitted to torch float32", reference))
    }


def _seeds(method: str) -> tuple[int, ...]:
    return _SEEDS if METHODS[method].seeded else _SEEDS[:1]


def _score(method: str, seed: int, images: ImageSet, test: ImageSet) -> float:
    train = images.part("train", 0)
    data = TrainingSet(train.features.astype(np.float32), train.classes)
    fitted = METHODS[method].make().fit(data, _D_SMALL, seed)
    return 100 * mean_precision_at_k(fitted.embed(test.features.astype(np.float32)), test.classes, _K)


def print_quality(name: str, found: dict[str, dict[str, float]]) -> None:
    """A table, and whether each engine is within the bound."""
    print(f"mprec@{_K} on {name}, d = {_D_SMALL}, in percent")
    reference = next(iter(found.values()))
    for engine, scores in found.items():
        differences = [scores[column] - reference[column] for column in scores]
        cells = ", ".join(f"{column}: {score:.2f}" for column, score in scores.items())
        verdict = "within" if max(map(abs, differences)) <= _BOUND else "MORE THAN"
        print(f"  {engine}: {cells}; differs by {min(differences):+.2f} to {max(differences):+.2f}, {verdict} {_BOUND}")
