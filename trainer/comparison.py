"""The table of `trainer evaluate`: a model beside what one has without it, on images that it has not seen."""

import logging
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
from trainer.evaluation import mean_precision_at_k, measured_pairs, squared_distances
from trainer.image_set import ImageSet, load_image_set
from trainer.membership import Membership
from trainer.pca import fit_pca
from trainer.reliability import Reliability, reliability
from trainer.sampling import Labels
from trainer.training_data import TrainingData

__all__ = ["Score", "check_calibrated", "compare", "format_scores"]

_log = logging.getLogger(__name__)

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
    test_fraction: float | None,
    cache: Path,
) -> list[Score]:
    """Raw features, PCA at each model's d, and each model, on images that no model learned from; PCA is fitted on the
    others.

    A model's file says by content which images it learned from. Of a source with a split the test part is measured on,
    of another one all images that no model knows, or with a test fraction that share of them.
    Raises: BadDataset (no labels, no image that no model learned from), ModelMismatch (a model of another backbone).
    """
    for name, model in models:
        _check_same_backbone(model, backbone, name)
    images = load_image_set(source, backbone, cache)
    outside = _outside(images, models, test_fraction)
    train, test = images.where(~outside), images.where(outside)
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
    for d in sorted(
        {model.metric.embedding_dim for _, model in models if len(train.digests) > model.metric.embedding_dim}
    ):
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


def _outside(
    images: ImageSet, models: Sequence[tuple[str, Model]], test_fraction: float | None
) -> npt.NDArray[np.bool_]:
    """Which images to measure on, (n,): those of the test part that no model learned from. Raises: BadDataset."""
    if test_fraction is not None and not 0 < test_fraction < 1:
        raise BadDataset(f"--test-fraction must be greater than 0 and less than 1, got {test_fraction}.")
    outside = _test_part(images, models, test_fraction)
    for name, model in models:
        if model.provenance is None:
            continue
        known = model.provenance.has(images.digests)
        if (count := int((known & outside).sum())) or images.splits is None:
            _log.warning(
                "%s learned from %d of the %d images, %d of them of the test part: these are left out.",
                *(name, int(known.sum()), len(known), count),
            )
        outside &= ~known
    if outside.sum() < 2:
        raise BadDataset(
            f"The models learned from the images of {images.origin}, so a score would mean nothing: give images that "
            "they did not learn from, or train with --test-fraction 0.25 or with a CSV that has a split column."
        )
    return outside


def _test_part(
    images: ImageSet, models: Sequence[tuple[str, Model]], test_fraction: float | None
) -> npt.NDArray[np.bool_]:
    """Of the source's split, else the share that is asked for; else all, less what models trained on that do not say
    what they learned from. Raises: BadDataset."""
    silent = [(name, model) for name, model in models if model.provenance is None]
    if images.splits is None and silent and test_fraction is None:
        test_fraction = min(_test_fraction(model) for _, model in silent)
        if test_fraction == 0:
            raise BadDataset(
                f"{silent[0][0]} does not say which images it learned from, and the source has no test split: give a "
                "CSV with a split column, or say with --test-fraction which share was left out."
            )
    if images.splits is None and test_fraction is None:
        return np.ones(len(images.digests), bool)
    return images.mask_of("test", test_fraction or 0.0)


def check_calibrated(models: Sequence[tuple[str, Model]]) -> None:
    """Raises: BadDataset where no model gives probabilities, so that there is no reliability to draw."""
    if not any(model.calibration for _, model in models):
        raise BadDataset("--reliability needs a calibrated model: train without --no-validation.")


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
