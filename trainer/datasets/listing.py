"""From the images that a set lists to a source."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trainer.box import Box
from trainer.dataset import Source
from trainer.errors import BadDataset
from trainer.membership import SEPARATOR

__all__ = ["Listed", "Split", "count_note", "source_of"]

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Listed:
    """An image of a set: a picture, or a box of one. Its file may be missing: the extractor reports what is bad."""

    path: Path
    label: str  # several are joined by trainer.membership.SEPARATOR
    split: Split
    box: Box | None = None


def source_of(root: Path, images: Sequence[Listed], notes: Sequence[str] = ()) -> Source:
    """Raises: BadDataset where an image is there twice, a part is empty or the classes do not teach anything."""
    _check_listed_once(root, images)
    for part in ("train", "test"):
        if all(image.split != part for image in images):
            raise BadDataset(f"{root} has no images in its {part} part: it needs both. Unpack the whole set.")
    notes = [*notes, *_lonely(root, [image.label for image in images])]
    paths, labels = [image.path for image in images], [image.label for image in images]
    boxes = [image.box for image in images] if any(image.box is not None for image in images) else None
    return Source(root, paths, labels, [image.split for image in images], notes=notes, boxes=boxes)


def count_note(found: int, published: int, what: str = "images") -> list[str]:
    """A note where a copy is not as large as the set was published."""
    return [] if found == published else [f"The set has {found} {what}; as published it has {published}."]


def _check_listed_once(root: Path, images: Sequence[Listed]) -> None:
    counts = Counter((image.path, image.box) for image in images)
    repeated = [f"{path}" if box is None else f"{path} {box}" for (path, box), count in counts.items() if count > 1]
    if repeated:
        raise BadDataset(f"{root} lists {min(repeated)} twice: an image can be in one part only. Unpack the set again.")


def _lonely(root: Path, labels: Sequence[str]) -> list[str]:
    counts = Counter(name for label in labels for name in label.split(SEPARATOR))
    if len(counts) < 2:
        raise BadDataset(f"{root} has one class only, {labels[0]!r}: nothing could be told apart.")
    lonely = sorted(name for name, count in counts.items() if count == 1)
    if len(lonely) == len(counts):
        raise BadDataset(f"{root}: every class has a single image, so there is no similar pair to learn from.")
    return [f"Classes with a single image teach only what is different: {', '.join(lonely)}."] if lonely else []
