"""Tiny copies of the sets, each laid out as it is distributed. Files of pictures are empty: readers only list them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat

VOC_CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog"),
    *("horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)
MATERIALS = ("fabric", "foliage", "glass", "leather", "metal", "paper", "plastic", "stone", "water", "wood")

# Marks of each image in the lists of three classes; all others have -1.
VOC_MARKS = {
    "trainval": {"000005": "dog cat", "000007": "cat", "000009": "horse -dog", "000012": "-horse"},
    "test": {"000001": "dog horse", "000002": "-cat", "000003": "cat"},
}


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def flowers102(root: Path, labels: object = (1, 1, 2, 2, 102, 102), **parts: object) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    touch(root, *(f"jpg/image_{i:05d}.jpg" for i in range(1, 7)))
    savemat(root / "imagelabels.mat", {"labels": np.array(labels)})
    savemat(root / "setid.mat", {"trnid": [3, 1], "valid": [5], "tstid": [2, 4, 6]} | parts)
    return root


def voc2007(root: Path) -> Path:
    for part, images in VOC_MARKS.items():
        touch(root, *(f"JPEGImages/{image}.jpg" for image in images))
        for name in VOC_CLASSES:
            marks = {
                image: 1 if name in of.split() else 0 if f"-{name}" in of.split() else -1
                for image, of in images.items()
            }
            write(root / f"ImageSets/Main/{name}_{part}.txt", *(f"{image} {mark:2d}" for image, mark in marks.items()))
    return root


def cub200(root: Path) -> Path:
    files = ["001.Albatross/A_1.jpg", "001.Albatross/A_2.jpg", "002.Blue_Jay/B_1.jpg", "002.Blue_Jay/B 2.jpg"]
    touch(root / "images", *files)
    write(root / "images.txt", *(f"{i} {file}" for i, file in enumerate(files, 1)))
    write(root / "image_class_labels.txt", "1 1", "2 1", "3 2", "4 2")
    write(root / "train_test_split.txt", "1 0", "2 1", "3 1", "4 0")
    write(root / "classes.txt", "1 001.Albatross", "2 002.Blue_Jay")
    return root


def scene15(root: Path) -> Path:
    for k in range(15):
        touch(root / f"{k:02d}", "Thumbs.db", *(f"image_{i:04d}.jpg" for i in range(1, 103)))
    return root


def fmd(root: Path) -> Path:
    for name in MATERIALS:
        touch(root / "image" / name, "Thumbs.db", *(f"{name}_object_{i:03d}_new.jpg" for i in range(1, 53)))
        touch(root / "mask" / name, f"{name}_object_001_new.jpg")
    return root


def leeds(root: Path) -> Path:
    for k in range(1, 11):
        touch(root / "images", *(f"{k:03d}{i:04d}.png" for i in range(1, 6)))
        touch(root / "segmentations", *(f"{k:03d}{i:04d}_seg0.png" for i in range(1, 6)))
    return root


def hat(root: Path, drop: str = "", **changes: object) -> Path:
    """Humans 1 and 2 are in one image, as are 5 and 6; human 4 has nothing, 8 is in no part, 5 and 6 are in two."""
    files = ["b.jpg", "b.jpg", "a.jpg", "c.jpg", "d.jpg", "d.jpg", "e.jpg", "f.jpg"]
    anno: dict[str, Any] = {
        "classes": cells(["female", "young", "run"]).reshape(3, 1),
        "files": cells(files),
        "objbbs": np.array([[10.0 * i + 1, 2, 10 * i + 5.4, 9.5, -0.3] for i in range(8)]),
        "objids": np.ones((1, 8)),
        "y": np.array([[1, -1, 1, 0, -1, 1, 1, 1], [-1, 1, 0, -1, -1, -1, 1, 1], [0, 0, 1, -1, 1, 0, -1, 1]], float),
        "trainidx": np.array([[1.0, 3.0, 4.0]]),
        "validx": np.array([[2.0, 6.0]]),
        "testidx": np.array([[5.0, 7.0]]),
    }
    touch(root / "images", *files)
    savemat(root / "anno.mat", {"anno": {key: value for key, value in (anno | changes).items() if key != drop}})
    return root


def cells(texts: list[Any]) -> Any:
    """A cell array, as MATLAB keeps texts."""
    array = np.empty((1, len(texts)), object)
    array[0, :] = texts
    return array


BUILD: dict[str, Callable[[Path], Path]] = {
    "cub200": cub200, "flowers102": flowers102, "fmd": fmd, "hat": hat,
    "leeds": leeds, "scene15": scene15, "voc2007": voc2007,
}  # fmt: skip
