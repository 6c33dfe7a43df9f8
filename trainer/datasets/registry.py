"""The image sets by name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trainer.dataset import Source
from trainer.datasets import cub200, flowers102, fmd, hat, leeds, scene15, voc2007
from trainer.errors import BadDataset

__all__ = ["NAMED", "NamedSet", "read_named"]


@dataclass(frozen=True)
class NamedSet:
    """An image set that is read as it is distributed."""

    title: str  # one line
    layout: str  # what must lie in the folder
    read: Callable[[Path], Source]


NAMED = {
    "cub200": NamedSet("Caltech-UCSD Birds-200-2011, its own split", cub200.LAYOUT, cub200.read),
    "flowers102": NamedSet("Oxford Flowers-102, trained on train and val", flowers102.LAYOUT, flowers102.read),
    "fmd": NamedSet("Flickr Material Database, 50 of each class for training", fmd.LAYOUT, fmd.read),
    "hat": NamedSet(
        "Human Attributes (HAT), each human cut out, several labels each, its own split", hat.LAYOUT, hat.read
    ),
    "leeds": NamedSet("Leeds Butterfly, half of each class for training", leeds.LAYOUT, leeds.read),
    "scene15": NamedSet("Fifteen scene categories, 100 of each for training", scene15.LAYOUT, scene15.read),
    "voc2007": NamedSet("Pascal VOC 2007, several labels an image, its own split", voc2007.LAYOUT, voc2007.read),
}


def read_named(name: str, root: Path) -> Source:
    """The image set of this name from its folder. Raises: BadDataset with what is expected and what was found."""
    if name not in NAMED:
        raise BadDataset(f"There is no image set named {name!r}: there are {', '.join(sorted(NAMED))}.")
    if not root.is_dir():
        raise BadDataset(f"There is no folder {root}. Expected: {NAMED[name].layout}.")
    return NAMED[name].read(root)
