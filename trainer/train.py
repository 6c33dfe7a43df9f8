"""One training run: measure on held-out images first, then learn from all of them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from embedding.backbone import Backbone
from embedding.model_file import Model, load_model, save_model
from trainer.choice import forget_tries
from trainer.config import TrainConfig
from trainer.dataset import Source
from trainer.errors import BadDataset
from trainer.image_set import ImageSet, load_image_set
from trainer.learner import learn, learned_model
from trainer.ranks import ALONE, Ranks
from trainer.run import Run

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
    """Learn from the training part of a source, and write the model file into the run folder.

    First members of the family are learned without a part of the images and measured on that part: this gives the
    metrics and the calibration, and with a time budget the settings. "final" learns from all of them; its model is the
    result.

    ranks: this process, the first one, and others that are in `fit_along`.
    Raises: BadDataset, RunFolderError, RanksError.
    """
    run.check_may_begin(config, resume=resume)
    images = load_image_set(source, backbone, cache).part("train", config.test_fraction)
    images = images.without_contradictions()
    data = images.learning_set()
    if not data.learnable:  # what reading the source could not know: bad files or the split left too little
        raise BadDataset(
            f"{images.origin}: what is left of it (readable, in the training part) lacks similar or dissimilar pairs."
        )
    run.begin(config, _describe(source, images, backbone), resume=resume)
    if run.model_path.exists():
        return load_model(run.model_path)  # the run was over
    run.write_bad_images(images.bad)
    learned = learn(data, config, run, ranks)
    more = {"processes": ranks.count} if ranks.count > 1 else {}
    model = learned_model(data, learned, backbone.identity, more)
    run.write_json("validation.json", model.training["validation"])
    forget_tries(run)
    save_model(model, run.model_path)
    run.finish()
    return model


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
