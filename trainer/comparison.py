"""The table of `trainer evaluate`: a model beside what one has without it, on images that it has not seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.backbone import Backbone
from embedding.errors import ModelMismatch
from embedding.metric import l2_normalised
from embedding.model_file import Calibration, Model
from trainer.dataset import Source
from trainer.errors import BadDataset
from trainer.evaluation import mean_precision_at_k, squared_distances
from trainer.image_set import load_image_set
from trainer.measured import measured_pairs
from trainer.membership import Membership
from trainer.pca import fit_pca
from trainer.reliability import Reliability, reliability
from trainer.sampling import Labels
from trainer.training_data import TrainingData

__all__ = ["Score", "check_calibrated", "check_unseen", "compare", "format_scores", "least_test_fraction"]

_ERROR = "calibration error"
_SEED = 0  # of the test pairs, where there are too many for all


@dataclass(frozen=True)
class Score:
    """mprec@K of one method, in percent, and of a calibrated model whether its probabilities are frequencies."""

    method: str
    dimensions: int
    mprec_at_k: dict[int, float]
    reliability: Reliability | None = None

    def to_json(self) -> dict[str, Any]:
        error = None if self.reliability is None else self.reliability.error
        return {
            "method": self.method,
            "d": self.dimensions,
            "mprec_at_k": self.mprec_at_k,
            "calibration_error": error,
        }


def compare(
    source: Source,
    models: Sequence[tuple[str, Model]],
    backbone: Backbone,
    ks: Sequence[int],
    test_fraction: float,
    cache: Path,
) -> list[Score]:
    """Raw features, PCA at each model's d, and each model, on the test part; PCA is fitted on the training part.

    Raises: BadDataset (no labels, no test part), ModelMismatch (a model of another backbone).
    """
    for name, model in models:
        _check_same_backbone(model, backbone, name)
    images = load_image_set(source, backbone, cache)
    train, test = (images.part(part, test_fraction) for part in ("train", "test"))
    labels = test.classes
    if max(ks) >= len(labels):
        raise BadDataset(
            f"K = {max(ks)} needs more than {max(ks)} test images, there are {len(labels)}: use a smaller K."
        )
    features = test.features.astype(np.float32)

    def score(method: str, vectors: npt.NDArray[np.float32], calibration: Calibration | None = None) -> Score:
        precision = {k: 100 * mean_precision_at_k(vectors, labels, k) for k in ks}
        return Score(method, vectors.shape[1], precision, _reliability(vectors, labels, calibration))

    scores = [score("raw features", l2_normalised(features))]
    for d in sorted({model.metric.embedding_dim for _, model in models}):
        scores.append(score("PCA", fit_pca(train.features.astype(np.float32), d).embed(features)))
    for name, model in models:
        label = model.method if len(models) == 1 else f"{model.method} ({name})"
        scores.append(score(label, model.metric.embed(features), model.calibration))
    return scores


def _reliability(
    vectors: npt.NDArray[np.float32], known: Labels | Membership, calibration: Calibration | None
) -> Reliability | None:
    """On the pairs of test images. None without a calibration or where a kind of pair is missing."""
    if calibration is None or not TrainingData(vectors, known).learnable:
        return None
    pairs = measured_pairs(known, _SEED)
    return reliability(calibration.probabilities(squared_distances(vectors, pairs)), pairs.similar)


def least_test_fraction(models: Sequence[tuple[str, Model]]) -> float:
    """The share of images that all the models left out when they were trained on a source without a split."""
    return min(_test_fraction(model) for _, model in models)


def check_unseen(models: Sequence[tuple[str, Model]], test_fraction: float) -> None:
    """Refuse to measure a model on images that it has learned from. A smaller test part lies within a larger one.

    Raises: BadDataset.
    """
    if not 0 <= test_fraction < 1:
        raise BadDataset(f"--test-fraction must be at least 0 and less than 1, got {test_fraction}.")
    if test_fraction == 0:
        raise BadDataset(
            "The source has no test split and a model was trained on all of it, so a score would mean nothing: "
            "train with --test-fraction 0.25, or give a CSV with a split column."
        )
    for name, model in models:
        own = _test_fraction(model)
        if own < test_fraction:
            raise BadDataset(
                f"{name} was trained with --test-fraction {own:g}, so it has seen part of the test images at "
                f"{test_fraction:g}: evaluate at {own:g} or less, or train it again."
            )


def check_calibrated(models: Sequence[tuple[str, Model]]) -> None:
    """Raises: BadDataset where no model gives probabilities, so that there is no reliability to draw."""
    if not any(model.calibration for _, model in models):
        raise BadDataset("--reliability needs a calibrated model: train with a --validation-fraction above 0.")


def _test_fraction(model: Model) -> float:
    return float(model.training.get("config", {}).get("test_fraction", 0.0))


def format_scores(scores: Sequence[Score]) -> str:
    """A table for people."""
    ks = list(scores[0].mprec_at_k)
    width = max(len(score.method) for score in scores)
    calibrated = any(score.reliability for score in scores)
    head = f"{'method':<{width}}  {'d':>5}  {'bytes':>6}" + "".join(f"  {f'mprec@{k}':>9}" for k in ks)
    head += f"  {_ERROR}" if calibrated else ""
    lines = [
        f"{score.method:<{width}}  {score.dimensions:>5}  {4 * score.dimensions:>6}"
        + "".join(f"  {score.mprec_at_k[k]:>9.1f}" for k in ks)
        + (f"  {score.reliability.error:>{len(_ERROR)}.3f}" if score.reliability else "")
        for score in scores
    ]
    return "\n".join([head, *lines])


def _check_same_backbone(model: Model, backbone: Backbone, name: str) -> None:
    try:
        model.check_backbone(backbone.identity)
    except ModelMismatch as error:
        raise ModelMismatch(f"{name}: {error}") from error
