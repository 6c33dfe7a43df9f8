"""HAT, the Database of Human Attributes: 9344 humans with 27 attributes.

Source: Sharma and Jurie, Learning discriminative spatial representation for image classification, BMVC 2011, and the
README of the archive hatdb.tar. anno.mat has a structure anno: classes (27 names), files (the picture of each human, in
images/), objbbs (9344 x 5: a box and a number that the README does not explain), objids, y (27 x 9344: 1 there, -1 not
there, 0 not visible or ambiguous), and the numbers of the humans of three parts: trainidx (3500), validx (3500) and
testidx (2344). The first two are for learning, the third is for testing; an ambiguous attribute counts as not there.

An image is a human, cut out by its box, with its own attributes and part; a picture of several humans gives several.
The README has a box as x1, y1, x2, y2 and cuts it out with MATLAB's imcrop, at x1 and y1, x2 - x1 wide and y2 - y1
high. imcrop counts pixels from 1, rounds halves away from 0, takes the last row and column too and clips to the
picture, so columns round(x1) to round(x2) and rows round(y1) to round(y2) are the human's.

MATLAB's imread does not turn a picture by its EXIF orientation, our decoder does: boxes of a picture that has one other
than upright would not fit. We have not seen the archive to say whether there are any.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trainer.box import Box
from trainer.dataset import Source
from trainer.datasets.layout import AGAIN, located
from trainer.datasets.listing import Listed, Split, count_note, source_of
from trainer.datasets.matlab import matrix, members, read_mat, strings, whole_numbers
from trainer.errors import BadDataset
from trainer.membership import SEPARATOR

__all__ = ["LAYOUT", "read"]

LAYOUT = (
    "images/ and anno.mat (a structure anno with classes, files, objbbs, y, trainidx, validx and testidx), in the "
    "folder itself or in hatdb/ there"
)
_PUBLISHED = 9344
_SPLITS: dict[str, Split] = {"trainidx": "train", "validx": "train", "testidx": "test"}
_PARTS: tuple[Split, Split] = ("train", "test")


@dataclass(frozen=True)
class _Humans:
    """n humans and k attributes."""

    attributes: list[str]  # (k)
    files: list[str]  # (n)
    boxes: list[Box]  # (n)
    present: npt.NDArray[np.bool_]  # (k, n)
    splits: dict[int, Split]  # position of the human -> part; some may be in none


def read(root: Path) -> Source:
    """Labels are the attributes of a human, as in "female|running". Raises: BadDataset."""
    base = located(root, ["hatdb"], ["anno.mat", "images/"], LAYOUT)
    humans = _humans(base / "anno.mat")
    order = sorted(humans.splits, key=lambda i: (humans.files[i], i))
    images = [_listed(base / "images", humans, i) for i in order]
    notes = _notes(humans)
    if left_out := sum(not image.label for image in images):
        notes.append(f"{left_out} humans have no attribute that is surely there: left out.")
    return source_of(root, [image for image in images if image.label], notes)


def _humans(path: Path) -> _Humans:
    structure = read_mat(path, ["anno"])[0]
    classes, files, objbbs, y, *parts = members(path, structure, ["classes", "files", "objbbs", "y", *_SPLITS])
    attributes, names = strings(path, "anno.classes", classes), strings(path, "anno.files", files)
    if odd := [name for name in attributes if SEPARATOR in name]:
        raise BadDataset(f"{path}: expected attributes without {SEPARATOR!r}, got {odd[0]!r}. {AGAIN}")
    n = len(names)
    boxes, present = _boxes(path, objbbs, n), _present(path, y, len(attributes), n)
    return _Humans(attributes, names, boxes, present, _splits(path, parts, n))


def _boxes(path: Path, objbbs: object, n: int) -> list[Box]:
    values = np.atleast_2d(matrix(path, "anno.objbbs", objbbs))  # read_mat drops sides of one
    if values.shape != (n, 5):
        raise BadDataset(f"{path}: expected anno.objbbs of {n} x 5 (humans x numbers), got {values.shape}. {AGAIN}")
    corners = values[:, :4]
    x1, y1, x2, y2 = corners.T
    good = np.isfinite(corners).all(axis=1) & (x1 < x2) & (y1 < y2)
    if not good.all():
        i = int(np.flatnonzero(~good)[0])
        found = ", ".join(f"{value:g}" for value in corners[i])
        raise BadDataset(
            f"{path}: expected corners x1, y1, x2, y2 with x1 < x2 and y1 < y2 in anno.objbbs, got {found} for human "
            f"{i + 1}. {AGAIN}"
        )
    pixels = np.trunc(corners + np.copysign(0.5, corners)) - (1, 1, 0, 0)  # from 0, the last ones within
    return [Box(*(int(value) for value in row)) for row in pixels]


def _present(path: Path, y: object, k: int, n: int) -> npt.NDArray[np.bool_]:
    marks = matrix(path, "anno.y", y)
    if marks.shape not in ((k, n), tuple(side for side in (k, n) if side != 1)):  # read_mat drops sides of one
        raise BadDataset(f"{path}: expected anno.y of {k} x {n} (classes x files), got {marks.shape}. {AGAIN}")
    if not np.isin(marks, (-1, 0, 1)).all():
        raise BadDataset(
            f"{path}: expected -1, 0 and 1 in anno.y, got {marks[~np.isin(marks, (-1, 0, 1))][0]:g}. {AGAIN}"
        )
    present: npt.NDArray[np.bool_] = marks.reshape(k, n) == 1
    return present


def _splits(path: Path, parts: list[object], n: int) -> dict[int, Split]:
    splits: dict[int, Split] = {}
    for (name, split), value in zip(_SPLITS.items(), parts, strict=True):
        for number in whole_numbers(path, f"anno.{name}", value, n):
            if number - 1 in splits:
                raise BadDataset(f"{path}: human {number} is in two parts or twice in anno.{name}. {AGAIN}")
            splits[number - 1] = split
    return splits


def _listed(folder: Path, humans: _Humans, i: int) -> Listed:
    """Human i; its label is empty where no attribute is there."""
    names = sorted(humans.attributes[k] for k in np.flatnonzero(humans.present[:, i]))
    return Listed(folder / humans.files[i], SEPARATOR.join(names), humans.splits[i], humans.boxes[i])


def _notes(humans: _Humans) -> list[str]:
    notes = count_note(len(humans.files), _PUBLISHED, "humans")
    if left_out := len(humans.files) - len(humans.splits):
        notes.append(f"{left_out} humans are in no part of anno.mat: left out.")
    train, test = ({humans.files[i] for i, split in humans.splits.items() if split == part} for part in _PARTS)
    if both := len(train & test):
        notes.append(f"{both} pictures show humans of both parts.")
    return notes
