"""Pairs of images to ask people about, so that the next model learns most from the answers.

A collection of millions is never looked at as a whole: some images are drawn at random, those without category first,
with some of their near neighbours, and pairs are chosen among those. What is drawn depends on the verdicts there are:
it stays the same until there is another one.
"""

import logging
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.errors import BadLimit, UnknownModel, shown
from app.records import FeatureMatrix, StoredImage
from app.services.collection import ActiveModel, Collection
from app.services.doubts import doubts
from app.services.models import backbone_of, training_of
from app.services.questions import Question, View, choose
from app.services.steady import steadily
from embedding.errors import BadFeatures, ModelFileError
from embedding.model_file import Model, is_trained, model_from_bytes

__all__ = ["MAX_SUGGESTIONS", "Doubt", "Suggestion", "Suggestions", "suggest"]

_log = logging.getLogger(__name__)

MAX_SUGGESTIONS = 100

_IMAGES = 1000  # that are looked at; of so many all pairs are
_DRAWN = 700  # of them, where there are more; the others are near neighbours
_WITHOUT_CATEGORY = 500  # of those drawn at most: pairs of two that have one teach little
_RANKS = (1, 8, 64)  # of those neighbours
_SEARCHES = (_IMAGES - _DRAWN) // len(_RANKS)
_WORK = 1e8  # numbers that the searches may read: about 0.15 s


FEW_PICTURES = "There are fewer than two pictures."
ALL_NAMED = "All pictures have a category, and the model doubts none of them."
ALL_NAMED_UNTRAINED = "All pictures have a category: verdicts would only repeat what these say."
ALL_ASKED = "Every pair that could teach something has an answer."
FEWER = "Nothing else could teach something for now."


@dataclass(frozen=True)
class Doubt:
    """A category that seems to be wrong."""

    image_id: str
    category: str
    neighbours_say: str
    share: float  # of its neighbours, 0 to 1


@dataclass(frozen=True)
class Suggestion:
    """A pair worth asking about."""

    left: StoredImage
    right: StoredImage
    squared_distance: float
    probability: float | None  # of being of the same kind, if the model is calibrated
    reason: Literal["uncertain", "disagreement", "label"]
    doubt: Doubt | None  # of the reason "label"


@dataclass(frozen=True)
class Suggestions:
    model: str  # version
    trained: bool  # whether that has learned from people
    pairs: list[Suggestion]
    detail: str | None  # why there are none, or fewer than were asked for


@dataclass(frozen=True)
class _Pool:
    """The n images that are looked at."""

    images: list[StoredImage]
    features: FeatureMatrix  # (n, D)
    points: npt.NDArray[np.float32]  # (n, d)

    @property
    def has_category(self) -> npt.NDArray[np.bool_]:
        """(n,)"""
        return np.array([image.category is not None for image in self.images], bool)


def suggest(collection: Collection, count: int) -> Suggestions:
    """At most `count` pairs of stored images that nobody has given a verdict about, the most worth asking about.

    A verdict about two images with a category would only repeat what these say: such pairs are left out, unless the
    model doubts one of the categories.

    Raises: BadLimit, BadFeatures, NotReady, StoreUnavailable.
    """
    if not 1 <= count <= MAX_SUGGESTIONS:
        raise BadLimit(f"count must be 1 to {MAX_SUGGESTIONS}, got {shown(count)}.")
    return steadily(collection, lambda active: _suggested(collection, active, count))


def _suggested(collection: Collection, active: ActiveModel, count: int) -> Suggestions:
    pool = _pool(collection, active)
    trained = active.model.is_trained
    if len(pool.images) < 2:
        return Suggestions(active.version, trained, [], FEW_PICTURES)
    pairs = _shown(collection, active, pool, _chosen(collection, active, pool, count))
    detail = None if len(pairs) == count else FEWER if pairs else _why_none(pool, trained=trained)
    return Suggestions(active.version, trained, pairs, detail)


def _why_none(pool: _Pool, *, trained: bool) -> str:
    if not pool.has_category.all():
        return ALL_ASKED
    return ALL_NAMED if trained else ALL_NAMED_UNTRAINED


def _pool(collection: Collection, active: ActiveModel) -> _Pool:
    rng = np.random.default_rng(collection.repository.pairs.last_seq())
    index = active.index
    if len(index) <= _IMAGES:
        return _embedded(collection, active, index.sample(_IMAGES, rng))
    free = collection.repository.images.without_category(_WITHOUT_CATEGORY, rng)
    drawn = np.union1d(free, index.sample(_DRAWN - len(free), rng))
    searches = max(1, min(_SEARCHES, int(_WORK / (len(index) * index.embedding_dim))))
    near = _neighbours(active, _embedded(collection, active, rng.permutation(drawn)[:searches]))
    return _embedded(collection, active, np.union1d(drawn, near))


def _embedded(collection: Collection, active: ActiveModel, seqs: npt.NDArray[np.int64]) -> _Pool:
    """Those of the images that are there, in the order of seq."""
    images = collection.repository.images
    block, stored = images.features_of(np.sort(seqs).tolist()), images.with_seqs(seqs.tolist())
    there = [row for row, seq in enumerate(block.seqs.tolist()) if seq in stored]
    features = block.features[there]
    points = active.embed(features) if there else np.empty((0, active.index.embedding_dim), np.float32)
    return _Pool([stored[int(block.seqs[row])] for row in there], features, points)


def _neighbours(active: ActiveModel, anchors: _Pool) -> npt.NDArray[np.int64]:
    """Seqs of some images near to each."""
    found: list[int] = []
    for image, point in zip(anchors.images, anchors.points, strict=True):
        near = [hit.id for hit in active.index.search(point, _RANKS[-1] + 1) if hit.id != image.seq]
        found += [near[rank - 1] for rank in _RANKS if rank <= len(near)]
    return np.array(found, np.int64)


def _chosen(collection: Collection, active: ActiveModel, pool: _Pool, count: int) -> list[Question]:
    pairs, ids = collection.repository.pairs, [image.id for image in pool.images]
    rows = {image_id: row for row, image_id in enumerate(ids)}
    judged = [(rows[left], rows[right]) for left, right in sorted(pairs.judged_among(ids))]
    named = pairs.named_among(ids)
    judged_rows = np.array(judged, np.int64).reshape(-1, 2)
    doubted = doubts(pool.points, _labels(pool), judged_rows) if active.model.is_trained else []
    return choose(
        View(pool.points, active.model.b, _even_distance(active.model)),
        _other_view(collection, active, pool),
        judged_rows,
        np.array([image_id not in named for image_id in ids]),
        count,
        pool.has_category,
        doubted,
    )


def _labels(pool: _Pool) -> npt.NDArray[np.int64]:
    """A number for each category, (n,); -1 where there is none."""
    numbers: dict[str, int] = {}
    return np.array(
        [-1 if image.category is None else numbers.setdefault(image.category, len(numbers)) for image in pool.images],
        np.int64,
    )


def _even_distance(model: Model) -> float | None:
    """What the trainer found, if it is there; a manifest may hold anything."""
    collection = model.training.get("collection")
    found = collection.get("even_distance") if isinstance(collection, dict) else None
    return float(found) if isinstance(found, int | float) and 0 < found < math.inf else None


def _other_view(collection: Collection, active: ActiveModel, pool: _Pool) -> View | None:
    """Of the newest model, if it is newer than the active one and can be compared with it."""
    try:
        model = _newer_model(collection, active)
        points = model.metric.embed(pool.features) if model else None
    except (UnknownModel, ModelFileError, BadFeatures) as error:
        _log.warning("The newest model cannot be asked what it thinks of pairs: %s", error)
        return None
    return View(points, model.b) if model and points is not None and np.isfinite(points).all() else None


def _newer_model(collection: Collection, active: ActiveModel) -> Model | None:
    """Raises: UnknownModel if it was removed meanwhile, ModelFileError."""
    models = collection.repository.models
    for record in models.all():  # the newest first
        if record.version == active.version:
            break
        # One that nobody has taught anything may see things otherwise, but it disputes nothing.
        if is_trained(training_of(record)) and backbone_of(record) == active.model.backbone:
            return model_from_bytes(models.artifact(record.version), f"model {record.version}")
    return None


def _shown(collection: Collection, active: ActiveModel, pool: _Pool, questions: list[Question]) -> list[Suggestion]:
    """As they are now: what was deleted while they were chosen is left out."""
    seqs = [(pool.images[each.left].seq, pool.images[each.right].seq) for each in questions]
    stored = collection.repository.images.with_seqs([seq for pair in seqs for seq in pair])
    return [
        _suggestion(active, stored[left], stored[right], question, pool)
        for (left, right), question in zip(seqs, questions, strict=True)
        if left in stored and right in stored
    ]


def _suggestion(active: ActiveModel, one: StoredImage, two: StoredImage, question: Question, pool: _Pool) -> Suggestion:
    left, right = sorted((one, two), key=lambda image: image.id)  # as pairs are written everywhere
    calibration = active.model.calibration
    probability = calibration.probability(question.squared_distance) if calibration else None
    doubt = _doubt(question, pool)
    reason: Literal["uncertain", "disagreement", "label"] = (
        "label" if doubt else "disagreement" if question.is_disputed else "uncertain"
    )
    return Suggestion(left, right, question.squared_distance, probability, reason, doubt)


def _doubt(question: Question, pool: _Pool) -> Doubt | None:
    if question.doubt is None:
        return None
    image, partner = pool.images[question.doubt.image], pool.images[question.doubt.partner]
    return Doubt(image.id, str(image.category), str(partner.category), question.doubt.share)
