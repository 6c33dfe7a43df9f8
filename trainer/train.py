"""One training run: measure on held-out images first, then learn from all of them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.backbone import Backbone
from embedding.metric import Metric, l1_normalised
from embedding.model_file import Calibration, Model, load_model, save_model
from trainer.calibration import fit_calibration
from trainer.config import TrainConfig
from trainer.dataset import Source, held_out
from trainer.errors import BadDataset, RunFolderError
from trainer.evaluation import all_pairs, mean_precision_at_k, pair_auc, squared_distances
from trainer.fit import fit_metric
from trainer.image_set import ImageSet, load_image_set
from trainer.membership import Membership
from trainer.run import Run, library_versions
from trainer.sampling import Labels, PairIndices, draw_pairs, generator
from trainer.training_data import TrainingData

__all__ = ["fingerprint", "train"]

# Held-out pairs that are measured; more change the third digit only. Where there are more, half of those drawn are
# similar: of many classes a plain sample would hold hardly any.
_MEASURED_PAIRS = 200_000


def train(
    source: Source, config: TrainConfig, backbone: Backbone, run: Run, cache: Path, *, resume: bool = False
) -> Model:
    """Run the two phases and write the model file into the run folder.

    "validation" learns from part of the images and is measured on the rest, once: that gives the metrics and the
    calibration. "final" learns from all of them; its model is the result.

    Raises: BadDataset, RunFolderError.
    """
    run.check_may_begin(config, resume=resume)
    images = load_image_set(source, backbone, cache).part("train", config.test_fraction)
    images = images.without_contradictions()
    data = _training_data(images)
    run.begin(config, _describe(source, images, backbone), resume=resume)
    if run.model_path.exists():
        return load_model(run.model_path)  # the run was over
    run.write_bad_images(images.bad)
    measured = run.read_json("validation.json")
    if measured is None:
        out = held_out(images.digests, images.strata, config.validation_fraction, "validation")
        measured = _measure_held_out(data, out, config, run)
        run.write_json("validation.json", measured)
    metric = fit_metric(data, config, run, "final")
    model = _model(metric, backbone, config, data, measured)
    save_model(model, run.model_path)
    run.finish()
    return model


def _model(
    metric: Metric, backbone: Backbone, config: TrainConfig, data: TrainingData, measured: Mapping[str, Any]
) -> Model:
    fields = measured.get("calibration")
    try:
        calibration = None if fields is None else Calibration(**fields)
    except (TypeError, ValueError) as error:
        raise RunFolderError(f"validation.json holds no calibration ({error}): start a new run folder.") from error
    return Model(
        method=config.method,
        metric=metric,
        backbone=backbone.identity,
        # The objective's b shapes the space; which distance parts the two kinds there, held-out pairs tell.
        b=config.threshold if calibration is None else calibration.threshold,
        calibration=calibration,
        training={
            "config": config.to_json(),
            "images": len(data.histograms),
            "pairs": len(data.known) if isinstance(data.known, PairIndices) else None,
            "validation": {key: value for key, value in measured.items() if key != "calibration"},
            "versions": library_versions(),
        },
    )


def _training_data(images: ImageSet) -> TrainingData:
    histograms = l1_normalised(images.features.astype(np.float32))
    data = TrainingData(histograms, images.known)
    if not data.learnable:  # what reading the source could not know: bad files or the split left too little
        raise BadDataset(
            f"{images.origin}: what is left of it (readable, in the training part) lacks similar or dissimilar pairs."
        )
    return data


def _measure_held_out(data: TrainingData, out: npt.NDArray[np.bool_], config: TrainConfig, run: Run) -> dict[str, Any]:
    """Fit on the rest, measure on the held-out images. Without enough of them the answer says so and is empty."""
    inside, outside = data.within(~out), data.within(out)
    if not (inside.learnable and outside.learnable):
        return {"held_out_images": int(out.sum()), "note": "too few held-out images or pairs to measure on"}
    embeddings = fit_metric(inside, config, run, "validation").embed(outside.histograms)
    labels = None if isinstance(outside.known, PairIndices) else outside.known
    pairs = _measured_pairs(outside, config.seed)
    distances = squared_distances(embeddings, pairs)
    calibration = fit_calibration(distances, pairs.similar)
    near = distances < (config.threshold if calibration is None else calibration.threshold)
    return {
        "held_out_images": int(out.sum()),
        "held_out_pairs": len(pairs),
        **({} if labels is None else _held_out_mprec(embeddings, labels)),
        "pair_auc": pair_auc(distances, pairs.similar),
        "similar_below_b": float(near[pairs.similar].mean()),
        "dissimilar_below_b": float(near[~pairs.similar].mean()),
        "calibration": None if calibration is None else asdict(calibration),
    }


def _held_out_mprec(embeddings: npt.NDArray[np.float32], known: Labels | Membership) -> dict[str, float]:
    """mprec@10, or at a lower K where a held-out class is smaller and could not fill ten places."""
    sizes = known.matrix.sum(0) if isinstance(known, Membership) else np.bincount(known)
    k = max(1, min(10, int(sizes[sizes > 0].min()) - 1))
    return {f"mprec_at_{k}": mean_precision_at_k(embeddings, known, k)}


def _measured_pairs(data: TrainingData, seed: int) -> PairIndices:
    if isinstance(data.known, PairIndices):
        return data.known
    n = len(data.known)
    if n * (n - 1) // 2 <= _MEASURED_PAIRS:
        return all_pairs(data.known)
    return draw_pairs(data.known, _MEASURED_PAIRS, generator(seed, "measured pairs", 0))


def fingerprint(images: ImageSet) -> str:
    """Of everything that decides what is learned: contents in their order, labels, pairs."""
    digest = hashlib.sha256(b"".join(images.digests))
    digest.update(json.dumps(images.labels).encode())
    if images.pairs is not None:
        for part in (images.pairs.left, images.pairs.right, images.pairs.similar):
            digest.update(part.tobytes())
    return digest.hexdigest()


def _describe(source: Source, images: ImageSet, backbone: Backbone) -> dict[str, Any]:
    return {
        "source": str(source.origin),
        "images": len(images.digests),
        "bad_images": len(images.bad),
        "classes": None if images.labels is None else images.class_sizes,
        "pairs": None if images.pairs is None else len(images.pairs),
        "sha256": fingerprint(images),
        "backbone": backbone.identity.key,
        "notes": source.notes,
    }
