"""Oxford Flowers-102: 8189 images of 102 kinds.

Source: Nilsback and Zisserman, Automated flower classification over a large number of classes, ICVGIP 2008;
https://www.robots.ox.ac.uk/~vgg/data/flowers/102/. Image i is jpg/image_%05d.jpg, its label is labels(i) in
imagelabels.mat, and setid.mat has the numbers of the images of three parts. The paper learned from training and
validation part together (trnid 1020, valid 1020) and tested on the third (tstid 6149), and so do we. Beware of work
that swaps them: there the large part is the training part, and figures are higher.
"""

from pathlib import Path

from trainer.dataset import Source
from trainer.datasets.layout import located
from trainer.datasets.listing import Listed, Split, count_note, source_of
from trainer.datasets.matlab import read_mat, whole_numbers

__all__ = ["LAYOUT", "read"]

LAYOUT = "jpg/image_00001.jpg and so on, imagelabels.mat and setid.mat, in the folder itself or in flowers-102/ there"
_PUBLISHED = 8189
_SPLITS: dict[str, Split] = {"trnid": "train", "valid": "train", "tstid": "test"}


def read(root: Path) -> Source:
    """Labels are the numbers of the kinds, "001" to "102". Raises: BadDataset."""
    base = located(root, ["flowers-102"], ["jpg/", "imagelabels.mat", "setid.mat"], LAYOUT)
    path = base / "imagelabels.mat"
    labels = whole_numbers(path, "labels", read_mat(path, ["labels"])[0])
    images = [
        Listed(base / "jpg" / f"image_{number:05d}.jpg", f"{labels[number - 1]:03d}", split)
        for number, split in _numbers(base / "setid.mat", len(labels))
    ]
    notes = count_note(len(labels), _PUBLISHED)
    if left_out := len(labels) - len({image.path for image in images}):
        notes.append(f"{left_out} images are in no part of setid.mat: left out.")
    return source_of(root, images, notes)


def _numbers(path: Path, count: int) -> list[tuple[int, Split]]:
    """Numbers of the images of all parts in ascending order, with their part."""
    parts = zip(_SPLITS.items(), read_mat(path, list(_SPLITS)), strict=True)
    return sorted(
        (number, split) for (name, split), value in parts for number in whole_numbers(path, name, value, count)
    )
