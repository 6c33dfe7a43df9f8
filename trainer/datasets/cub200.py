"""Caltech-UCSD Birds-200-2011: 11788 images of 200 species.

Source: Wah, Branson, Welinder, Perona and Belongie, The Caltech-UCSD Birds-200-2011 Dataset, CNS-TR-2011-001, and the
README in the archive. images.txt has id and file of each image, image_class_labels.txt id and class,
train_test_split.txt id and 1 (training) or 0 (test), classes.txt id and name of each class. The split is that of
train_test_split.txt, where both parts have all classes; work on retrieval of unseen classes has another one.
"""

from pathlib import Path

from trainer.dataset import Source
from trainer.datasets.layout import AGAIN, check_same_images, located, read_list
from trainer.datasets.listing import Listed, count_note, source_of
from trainer.errors import BadDataset

__all__ = ["LAYOUT", "read"]

LAYOUT = (
    "images/, images.txt, image_class_labels.txt, train_test_split.txt and classes.txt of CUB_200_2011.tgz, in the "
    "folder itself or in CUB_200_2011/ there"
)
_PUBLISHED = 11788
_LISTS = ("images.txt", "image_class_labels.txt", "train_test_split.txt")


def read(root: Path) -> Source:
    """Labels are the names of the classes, as in "001.Black_footed_Albatross". Raises: BadDataset."""
    base = located(root, ["CUB_200_2011"], ["images/", *_LISTS, "classes.txt"], LAYOUT)
    paths = [base / name for name in _LISTS]
    files = read_list(paths[0], "image id and file name")
    classes = read_list(paths[1], "image id and class id")
    training = read_list(paths[2], "image id and mark of training", ["0", "1"])
    check_same_images(paths[1], classes, paths[0], files)
    check_same_images(paths[2], training, paths[0], files)
    names = read_list(base / "classes.txt", "class id and class name")
    if unknown := set(classes.values()) - names.keys():
        raise BadDataset(f"{paths[1]} names class {min(unknown)}, which classes.txt does not have. {AGAIN}")
    images = [
        Listed(base / "images" / file, names[classes[i]], "train" if training[i] == "1" else "test")
        for i, file in files.items()
    ]
    return source_of(root, images, count_note(len(images), _PUBLISHED))
