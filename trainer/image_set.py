"""A source whose files have been read: features with what is known of each image, and its training and test parts."""

import logging
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from embedding.backbone import Backbone
from trainer.box import Box
from trainer.dataset import Source, held_out
from trainer.errors import BadDataset
from trainer.features import extract
from trainer.learning_set import LearningSet
from trainer.membership import SEPARATOR, Membership, label_names
from trainer.sampling import Labels, PairIndices

__all__ = ["ImageSet", "load_image_set"]

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ImageSet:
    """n images; row i of the features has paths[i], boxes[i], digests[i], labels[i], splits[i]."""

    origin: Path
    paths: list[Path]
    boxes: list[Box | None]  # None: the whole picture
    features: npt.NDArray[np.float16]  # (n, D), as they are kept
    digests: list[bytes]  # sha256 of the contents: of whole pictures, or of boxes (trainer.features)
    labels: list[str] | None  # None where there are pairs instead
    splits: list[str] | None
    pairs: PairIndices | None
    bad: list[tuple[Path, str]]  # files that were left out, with reasons

    @property
    def known(self) -> Labels | Membership | PairIndices:
        """What is known of the images: pairs, a class each (n,), or memberships (n, C) where one has several.

        Classes are numbered from 0 in alphabetical order.
        """
        if self.pairs is not None:
            return self.pairs
        return self.classes

    @property
    def classes(self) -> Labels | Membership:
        """The class of each image (n,), or memberships (n, C). Raises: BadDataset where there are pairs."""
        if self.labels is None:
            raise BadDataset(f"{self.origin} has pairs, not labels: give the class of every image.")
        if any(SEPARATOR in label for label in self.labels):
            return Membership.of(self.labels)
        return np.unique(np.array(self.labels), return_inverse=True)[1].astype(np.int64)

    @property
    def class_sizes(self) -> dict[str, int]:
        """How many images each class has, by name; an image of several classes counts in each."""
        return dict(sorted(Counter(name for label in self.labels or [] for name in label_names(label)).items()))

    @property
    def strata(self) -> list[str] | None:
        """Labels by which a part can be drawn evenly: combinations of several labels are too many for that."""
        several = self.labels is not None and any(SEPARATOR in label for label in self.labels)
        return None if several else self.labels

    def learning_set(self) -> LearningSet:
        """What a learner takes."""
        several = self.labels is not None and any(SEPARATOR in label for label in self.labels)
        labels: list[str | None] = [None] * len(self.digests) if self.labels is None else list(self.labels)
        pairs = PairIndices.none() if self.pairs is None else self.pairs
        return LearningSet.of(self.digests, self.features, labels, pairs, separated=several)

    def without_contradictions(self) -> "ImageSet":
        """Without images whose content is there under another class too: they would teach that a picture differs from
        itself. Says in the log how many there were.
        """
        if self.labels is None:
            return self
        classes: dict[bytes, set[str]] = {}
        for digest, label in zip(self.digests, self.labels, strict=True):
            classes.setdefault(digest, set()).add(label)
        clear = np.array([len(classes[digest]) == 1 for digest in self.digests])
        if clear.all():
            return self
        names = ", ".join(min(sorted(found) for found in classes.values() if len(found) > 1))
        _log.warning("%d images are there in more than one class (%s, ...): not learned from.", (~clear).sum(), names)
        return self.where(clear)

    def part(self, name: str, test_fraction: float) -> "ImageSet":
        """The "train" or the "test" part: by the source's own split, else a choice by content.

        Raises: BadDataset if nothing is left.
        """
        mask = self.mask_of(name, test_fraction)
        if not mask.any():
            raise BadDataset(f"{self.origin} has no usable images in its {name} part.")
        return self.where(mask)

    def mask_of(self, name: str, test_fraction: float) -> npt.NDArray[np.bool_]:
        """Which images are of that part, (n,)."""
        if self.splits is not None:
            return np.array([split == name for split in self.splits])
        test = held_out(self.digests, self.strata, test_fraction, "test")
        return test if name == "test" else ~test

    def where(self, mask: npt.NDArray[np.bool_]) -> "ImageSet":
        """The chosen images. mask: (n,)."""
        return ImageSet(
            self.origin,
            _chosen(self.paths, mask),
            _chosen(self.boxes, mask),
            self.features[mask],
            _chosen(self.digests, mask),
            None if self.labels is None else _chosen(self.labels, mask),
            None if self.splits is None else _chosen(self.splits, mask),
            None if self.pairs is None else self.pairs.within(mask),
            self.bad,
        )


def load_image_set(source: Source, backbone: Backbone, cache: Path) -> ImageSet:
    """Extract the features of a source, those of known contents from the cache. Raises: BadDataset."""
    extracted = extract(source.paths, backbone, cache, source.boxes)
    positions = extracted.positions.tolist()
    return ImageSet(
        source.origin,
        [source.paths[i] for i in positions],
        [None if source.boxes is None else source.boxes[i] for i in positions],
        extracted.features,
        extracted.digests,
        None if source.labels is None else [source.labels[i] for i in positions],
        None if source.splits is None else [source.splits[i] for i in positions],
        None if source.labels is not None else _pairs_as_rows(source, extracted.positions),
        extracted.bad,
    )


def _pairs_as_rows(source: Source, positions: npt.NDArray[np.int64]) -> PairIndices:
    """The pairs whose two files could be read, as rows of the extracted features."""
    row_of = np.full(len(source.paths), -1)
    row_of[positions] = np.arange(len(positions))
    left, right = (row_of[[pair[end] for pair in source.pairs]] for end in (0, 1))
    usable = (left >= 0) & (right >= 0)
    similar = np.array([similar for _, _, similar in source.pairs])
    return PairIndices(left[usable], right[usable], similar[usable])


def _chosen(items: list[T], mask: npt.NDArray[np.bool_]) -> list[T]:
    return [item for item, kept in zip(items, mask, strict=True) if kept]
