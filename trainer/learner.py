"""From a learning set to a metric: measured on what is held out, then learned again from everything.

`trainer train` and `trainer update` both learn by this, so that the same data give the same model, whoever asks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from embedding.backbone_identity import BackboneIdentity
from embedding.metric import Metric
from embedding.model_file import Calibration, Model
from embedding.provenance import Provenance
from trainer.choice import Choice, choose, data_for, family, measures
from trainer.config import TrainConfig
from trainer.errors import BadDataset
from trainer.fit import fit_metric
from trainer.folds import RULE, folds
from trainer.learning_set import LearningSet, Mask
from trainer.ranks import ALONE, Ranks
from trainer.run import Run, library_versions
from trainer.scores import calibration_of

__all__ = ["Learned", "fit_member", "learn", "learned_model"]

At = Callable[[str, float], None]
_VALIDATION = 0.8  # of the time, about


@dataclass(frozen=True)
class Learned:
    """What was learned, and how that was chosen."""

    metric: Metric
    config: TrainConfig  # of the member that was chosen
    choice: Choice
    parts: list[Mask]  # the folds that it was measured on, (n,) each
    calibration: Calibration | None

    @property
    def threshold(self) -> float:
        """b: squared distance below which images count as similar."""
        return self.config.threshold if self.calibration is None else self.calibration.threshold


def learn(
    data: LearningSet,
    config: TrainConfig,
    run: Run | None = None,
    ranks: Ranks = ALONE,
    at: At = lambda _phase, _share: None,
) -> Learned:
    """Choose a member by what is held out, and learn it from everything.

    at: told what is being done, and which share of all of it is done. Raises: BadDataset where nothing can be learned,
    RunFolderError, RanksError.
    """
    if not data.learnable:
        raise BadDataset(
            "Similar and dissimilar pairs, or two categories of which one has two images, are needed to learn from."
        )
    parts = [out for out in folds(data) if data.without(out).learnable] if config.validation else []
    choice = choose(data, parts, config, run, ranks, lambda phase, share: at(phase, _VALIDATION * share))
    at("learning from everything", _VALIDATION)
    member = family(config)[choice.name]
    metric = fit_member(data, member, run, ranks)
    return Learned(metric, member, choice, parts, calibration_of(choice.scores))


def fit_member(
    data: LearningSet, member: TrainConfig, run: Run | None = None, ranks: Ranks = ALONE, phase: str = "final"
) -> Metric:
    """Of one member from all that is given. Raises: RunFolderError, RanksError."""
    return fit_metric(data_for(data, member), member, run, phase, ranks)


def learned_model(
    data: LearningSet, learned: Learned, backbone: BackboneIdentity, more: Mapping[str, Any] | None = None
) -> Model:
    """What was learned as a model that says what from. more: what else its manifest holds under `training`."""
    known = np.flatnonzero(data.has_label | data.pairs.named(len(data)))
    held_out = {"rule": RULE, "folds": len(learned.parts), "images": int(sum(out.sum() for out in learned.parts))}
    return Model(
        method=learned.config.method,
        metric=learned.metric,
        backbone=backbone,
        b=learned.threshold,
        calibration=learned.calibration,
        training={
            "config": learned.config.to_json(),
            "images": len(data),
            "labelled": int(data.has_label.sum()),
            "pairs": len(data.telling),
            "fingerprint": data.fingerprint,
            "held_out": held_out,
            "validation": {"chosen": learned.choice.name, "compared": learned.choice.compared}
            | measures(learned.choice.scores),
            "versions": library_versions(),
            **(more or {}),
        },
        provenance=Provenance.of([data.digests[i] for i in known], [data.labels[i] for i in known]),
    )
