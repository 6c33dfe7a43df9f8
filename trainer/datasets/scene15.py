"""Fifteen scene categories: 4485 images.

Source: Lazebnik, Schmid and Ponce, Beyond bags of features: spatial pyramid matching for recognizing natural scene
categories, CVPR 2006. It comes as 15 folders and without lists of images: the protocol there is to draw 100 images of
each class for training at random and to test on the rest. Ours are drawn once for all, by trainer.datasets.drawn.
"""

from pathlib import Path

from trainer.dataset import Source
from trainer.datasets.drawn import class_folders, draw, pictures_in
from trainer.datasets.layout import first
from trainer.datasets.listing import count_note, source_of
from trainer.errors import BadDataset

__all__ = ["LAYOUT", "read"]

# The names of the folders are not checked: the first distribution has bedroom, CALsuburb, ..., figshare's has 00 to 14.
LAYOUT = "15 folders of JPEGs, one of each class, in the folder itself, scene_categories/ or 15-Scene/"
_PUBLISHED = 4485
_CLASSES = 15
_TRAINING_IMAGES = 100  # of each class


def read(root: Path) -> Source:
    """Labels are the names of the folders. Raises: BadDataset."""
    classes = {folder.name: pictures_in(folder) for folder in _folders(root)}
    images = draw(classes, _TRAINING_IMAGES)
    return source_of(root, images, count_note(len(images), _PUBLISHED))


def _folders(root: Path) -> list[Path]:
    candidates = [root, root / "scene_categories", root / "15-Scene"]
    found = max((class_folders(base) for base in candidates if base.is_dir()), key=len)
    if len(found) != _CLASSES:
        raise BadDataset(
            f"{root}: expected {LAYOUT}. Found {len(found)} with images ({first([folder.name for folder in found])}). "
            "Unpack the whole set, and put nothing else there."
        )
    return found
