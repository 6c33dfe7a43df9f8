"""From what a collection holds to its next metric.

warm: the active model learns the new verdicts by gradient steps, as the paper's online setting has it. full: a model is
learned anew from all that is known: deep NML where enough images have a category, else the pair discriminant.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from embedding.hellinger import HellingerNetwork
from embedding.metric import FloatMatrix, Metric, l1_normalised, row_blocks
from embedding.model_file import Model
from trainer.config import UNIT_THRESHOLD, Network, TrainConfig
from trainer.errors import BadConfig
from trainer.fit import fit_metric
from trainer.sampling import Labels, generator
from trainer.threads import one_thread
from trainer.training_data import TrainingData
from trainer.update.collection import CollectionData
from trainer.update.discriminant import pair_discriminant
from trainer.update.settings import UpdateSettings
from trainer.update.warm import go_on

__all__ = ["Learned", "learn"]

_DISCRIMINANT = "pair-discriminant"  # in a model file

# Labelled images from which on the network is ahead of the discriminant, by validation on clothing10 and fmd.
_NETWORK_IMAGES = 200

# Images that are learned from at once: a quarter of a gigabyte in float32 at D = 1280, of which there are two copies.
_MOST_IMAGES = 50_000


@dataclass(frozen=True)
class Learned:
    """What was learned."""

    metric: Metric
    method: str  # as in a model file
    threshold: float  # squared distance below which images count as similar, where no calibration can be fitted


def learn(data: CollectionData, active: Model | None, settings: UpdateSettings) -> Learned:
    """active: the model that is searched by now, None if there is none.

    Raises: BadDataset if nothing can be learned from these images; BadConfig for mode "warm" without an active model.
    """
    if settings.mode == "warm":
        if active is None:
            raise BadConfig("--mode warm goes on from the active model, and there is none: leave it out.")
        with one_thread():
            return Learned(_warm(data, active, settings), active.method, active.b)
    data = _bounded(data, settings.seed)
    if _has_many_labels(data.labels):
        return Learned(_network(data, settings), "nml-deep", UNIT_THRESHOLD)
    with one_thread():
        metric = pair_discriminant(
            _histograms(data), data.labels, data.pairs, settings.dimensions, settings.seed, _directions(active)
        )
    return Learned(metric, _DISCRIMINANT, UNIT_THRESHOLD)


def _directions(active: Model | None) -> npt.NDArray[np.float64] | None:
    """(D, d) of an active pair discriminant."""
    if active is None or active.method != _DISCRIMINANT or not isinstance(active.metric, HellingerNetwork):
        return None
    return active.metric.direct.astype(np.float64)


def _has_many_labels(labels: Labels) -> bool:
    """Whether enough images share their category with another, and others do not."""
    sizes = np.bincount(labels[labels >= 0])
    return bool(sizes[sizes > 1].sum() >= _NETWORK_IMAGES and (sizes > 0).sum() > 1)


def _bounded(data: CollectionData, seed: int) -> CollectionData:
    """Of too many images those that verdicts name, then those that have a category, then others; evenly within each."""
    if len(data) <= _MOST_IMAGES:
        return data
    is_named = data.pairs.named(len(data))
    order = np.lexsort((generator(seed, "bounded", 0).random(len(data)), ~data.has_category, ~is_named))
    chosen = np.zeros(len(data), bool)
    chosen[order[:_MOST_IMAGES]] = True
    return data.within(chosen)


def _histograms(data: CollectionData) -> FloatMatrix:
    """l1-normalised features (n, D), made a block at a time: in between they are twice as wide."""
    histograms = np.empty(data.features.shape, np.float32)
    for rows in row_blocks(len(data)):
        histograms[rows] = l1_normalised(data.features[rows].astype(np.float32))
    return histograms


def _warm(data: CollectionData, active: Model, settings: UpdateSettings) -> Metric:
    """From the verdicts that the active model has not learned from."""
    known = active.training.get("collection")
    last = known.get("last_pair") if isinstance(known, dict) else None
    new = data.seqs > (last if isinstance(last, int) else 0)
    return go_on(active.metric, data.features, data.pairs.take(np.flatnonzero(new)), active.b, settings.seed)


def _network(data: CollectionData, settings: UpdateSettings) -> Metric:
    """From the labelled images, and from verdicts about those and others."""
    known = data.within(data.has_category | data.pairs.named(len(data)))
    training = TrainingData(_histograms(known), known.labels, known.pairs)
    return fit_metric(
        training, TrainConfig(d=settings.dimensions, optimiser=Network(), seed=settings.seed), None, "update"
    )
