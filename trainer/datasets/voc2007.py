"""Pascal VOC 2007: 9963 images of 20 classes, several in many of them.

Source: Everingham, Van Gool, Williams, Winn and Zisserman, The PASCAL Visual Object Classes Challenge 2007;
http://host.robots.ox.ac.uk/pascal/VOC/voc2007/. ImageSets/Main/CLASS_trainval.txt and CLASS_test.txt list every image
of a part with 1 (the class is there), -1 (it is not) or 0 (only objects marked as difficult). A difficult class is not
counted as there, as the challenge leaves such objects out. Train and val are for learning, test is for testing.
"""

from pathlib import Path

from trainer.dataset import Source
from trainer.datasets.layout import check_same_images, located, read_list
from trainer.datasets.listing import Listed, Split, count_note, source_of
from trainer.membership import SEPARATOR

__all__ = ["LAYOUT", "read"]

LAYOUT = (
    "JPEGImages/ and the lists of 20 classes in ImageSets/Main/ (aeroplane_trainval.txt, aeroplane_test.txt, ...), "
    "from both VOCtrainval_06-Nov-2007.tar and VOCtest_06-Nov-2007.tar, in the folder itself, in VOC2007/ or "
    "in VOCdevkit/VOC2007/"
)
_PUBLISHED = 9963
_CLASSES = [
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog"),
    *("horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
]
_SPLITS: dict[str, Split] = {"trainval": "train", "test": "test"}


def read(root: Path) -> Source:
    """Labels are the classes of an image, as in "horse|person". Raises: BadDataset."""
    lists = [f"ImageSets/Main/{name}_{part}.txt" for part in _SPLITS for name in _CLASSES]
    base = located(root, ["VOCdevkit/VOC2007", "VOC2007"], ["JPEGImages/", *lists], LAYOUT)
    classes_of = [(names, image, split) for part, split in _SPLITS.items() for image, names in _part(base, part)]
    images = [
        Listed(base / "JPEGImages" / f"{image}.jpg", SEPARATOR.join(names), split)
        for names, image, split in classes_of
        if names
    ]
    notes = count_note(len(classes_of), _PUBLISHED)
    if left_out := len(classes_of) - len(images):
        notes.append(f"{left_out} images show no class but difficult ones: left out.")
    return source_of(root, images, notes)


def _part(base: Path, part: str) -> list[tuple[str, list[str]]]:
    """The images of a part by name, with the classes of each in alphabetical order."""
    paths = [base / "ImageSets" / "Main" / f"{name}_{part}.txt" for name in _CLASSES]
    marks = [read_list(path, "image and mark", ["-1", "0", "1"]) for path in paths]
    for path, entries in zip(paths, marks, strict=True):
        check_same_images(path, entries, paths[0], marks[0])
    present = {
        image: [name for name, of in zip(_CLASSES, marks, strict=True) if of[image] == "1"] for image in marks[0]
    }
    return sorted(present.items())
