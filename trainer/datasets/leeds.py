"""Leeds Butterfly: 832 images of 10 species.

Source: Wang, Markert and Everingham, Learning models for object recognition from natural language descriptions, BMVC
2009; https://www.josiahwang.com/dataset/leedsbutterfly/. Images are images/SSSNNNN.png, where SSS is the species, 001
to 010. There are no lists of images: half of each class is for training, half for testing, drawn once for all by
trainer.datasets.drawn.
"""

import re
from pathlib import Path

from trainer.dataset import Source
from trainer.datasets.drawn import draw, pictures_in
from trainer.datasets.layout import located
from trainer.datasets.listing import count_note, source_of
from trainer.errors import BadDataset

__all__ = ["LAYOUT", "read"]

LAYOUT = (
    "images/0010001.png and so on, the first three digits being the species, 001 to 010, in the folder itself or in "
    "leedsbutterfly/ there"
)
_PUBLISHED = 832
_CLASSES = [f"{number:03d}" for number in range(1, 11)]


def read(root: Path) -> Source:
    """Labels are the numbers of the species, "001" to "010". Raises: BadDataset."""
    base = located(root, ["leedsbutterfly"], ["images/"], LAYOUT)
    classes: dict[str, list[Path]] = {name: [] for name in _CLASSES}
    for path in pictures_in(base / "images"):
        if not re.fullmatch(r"\d{7}", path.stem) or path.stem[:3] not in classes:
            raise BadDataset(f"{path} is no name of the set. Expected: {LAYOUT}. Put nothing else there.")
        classes[path.stem[:3]].append(path)
    images = draw(classes, None)
    return source_of(root, images, count_note(len(images), _PUBLISHED))
