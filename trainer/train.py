"""One training run: measure on held-out images first, then learn from all of them."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.backbone import Backbone
from embedding.metric import Metric, l1_normalised
from embedding.model_file import Calibration, Model, load_model, save_model
from trainer.choice import choose, family, forget_tries
from trainer.config import TrainConfig
from trainer.dataset import Source, held_out
from trainer.errors import BadDataset, RunFolderError
from trainer.fit import fit_metric
from trainer.image_set import ImageSet, load_image_set
from trainer.ranks import ALONE, Ranks
from trainer.run import Run, library_versions
from trainer.sampling import PairIndices
from trainer.training_data import TrainingData

__all__ = ["fingerprint", "train"]


def train(
    source: Source,
    config: TrainConfig,
    backbone: Backbone,
    run: Run,
    cache: Path,
    *,
    resume: bool = False,
    ranks: Ranks = ALONE,
) -> Model:
    """Run the two phases and write the model file into the run folder.

    "validation" learns from part of the images and is measured on the rest: that gives the metrics and the calibration,
    and with a time budget the settings. "final" learns from all of them; its model is the result.

    ranks: this process, the first one, and others that are in `fit_along`.
    Raises: BadDataset, RunFolderError, RanksError.
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
        measured = _chosen(data, out, config, run, ranks)
        run.write_json("validation.json", measured)
    forget_tries(run)
    config = _member(config, measured, run)
    metric = fit_metric(data, config, run, "final", ranks)
    model = _model(metric, backbone, config, data, measured, ranks.count)
    save_model(model, run.model_path)
    run.finish()
    return model


def _model(
    metric: Metric,
    backbone: Backbone,
    config: TrainConfig,
    data: TrainingData,
    measured: Mapping[str, Any],
    processes: int,
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
            **({"processes": processes} if processes > 1 else {}),
        },
    )


def _member(config: TrainConfig, measured: Mapping[str, Any], run: Run) -> TrainConfig:
    members, name = family(config), measured.get("chosen", "default")
    if name not in members:
        raise RunFolderError(
            f"{run.folder}/validation.json chose {name!r}, which is not there: start a new run folder."
        )
    return members[name]


def _training_data(images: ImageSet) -> TrainingData:
    histograms = l1_normalised(images.features.astype(np.float32))
    data = TrainingData(histograms, images.known)
    if not data.learnable:  # what reading the source could not know: bad files or the split left too little
        raise BadDataset(
            f"{images.origin}: what is left of it (readable, in the training part) lacks similar or dissimilar pairs."
        )
    return data


def _chosen(
    data: TrainingData, out: npt.NDArray[np.bool_], config: TrainConfig, run: Run, ranks: Ranks
) -> dict[str, Any]:
    """What learning from the rest gave on the held-out images. Without enough of them the answer says so."""
    inside, outside = data.within(~out), data.within(out)
    if not (inside.learnable and outside.learnable):
        return {"held_out_images": int(out.sum()), "note": "too few held-out images or pairs to measure on"}
    choice = choose(inside, outside, config, run, ranks)
    if len(choice.compared) == 1:
        return choice.measured
    return {"chosen": choice.name, "compared": choice.compared} | choice.measured


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
