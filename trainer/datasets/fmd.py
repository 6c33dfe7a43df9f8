"""Flickr Material Database: 1000 images of 10 materials, 100 of each.

Source: Sharan, Rosenholtz and Adelson, Accuracy and speed of material categorization in real-world images, Journal of
Vision 14(9), 2014; https://people.csail.mit.edu/lavanya/fmd.html. FMD.zip has image/MATERIAL/*.jpg, and mask/, which is
not used. There are no lists of images: 50 of each class for training and 50 for testing are usual, drawn at random.
Ours are drawn once for all, by trainer.datasets.drawn.
"""

from pathlib import Path

from trainer.dataset import Source
from trainer.datasets.drawn import draw, pictures_in
from trainer.datasets.layout import located
from trainer.datasets.listing import count_note, source_of

__all__ = ["LAYOUT", "read"]

_CLASSES = ["fabric", "foliage", "glass", "leather", "metal", "paper", "plastic", "stone", "water", "wood"]
LAYOUT = f"image/ with the folders {', '.join(_CLASSES)}, in the folder itself or in FMD/ there"
_PUBLISHED = 1000
_TRAINING_IMAGES = 50  # of each class


def read(root: Path) -> Source:
    """Labels are the materials. Raises: BadDataset."""
    base = located(root, ["FMD"], [f"image/{name}/" for name in _CLASSES], LAYOUT)
    images = draw({name: pictures_in(base / "image" / name) for name in _CLASSES}, _TRAINING_IMAGES)
    return source_of(root, images, count_note(len(images), _PUBLISHED))
