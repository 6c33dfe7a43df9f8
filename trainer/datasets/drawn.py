"""Splits for sets that come without one: drawn once for all, the same on every machine."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from trainer.datasets.listing import Listed
from trainer.errors import BadDataset

__all__ = ["class_folders", "draw", "pictures_in"]

_SEED = b"samekind 1"  # another one is another split, and figures are no longer comparable
_SUFFIXES = {".jpg", ".jpeg", ".png"}


def pictures_in(folder: Path) -> list[Path]:
    """The pictures that lie in the folder itself, by name; Thumbs.db and the like are passed over."""
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in _SUFFIXES and file.name[0] != ".")


def class_folders(root: Path) -> list[Path]:
    """The folders that hold pictures, by name."""
    folders = sorted(folder for folder in root.iterdir() if folder.is_dir() and not folder.name.startswith("."))
    return [folder for folder in folders if pictures_in(folder)]


def draw(classes: Mapping[str, Sequence[Path]], train: int | None) -> list[Listed]:
    """Give each class its training images, the rest is for testing.

    Which ones: the first in the order of sha256(seed, class, file name), so that neither the order of files nor a
    version of numpy matters. train: images of each class, or None for half, the larger one where the count is odd.
    Raises: BadDataset where a class would have no test image.
    """
    images = []
    for label, paths in classes.items():
        count = (len(paths) + 1) // 2 if train is None else train
        if len(paths) <= count:
            raise BadDataset(
                f"Class {label!r} has {len(paths)} images: expected more than {count}, which are for training. "
                "Unpack the whole set."
            )
        chosen = set(sorted(paths, key=lambda path: _rank(label, path))[:count])
        images += [Listed(path, label, "train" if path in chosen else "test") for path in paths]
    return images


def _rank(label: str, path: Path) -> bytes:
    return hashlib.sha256(b"/".join([_SEED, os.fsencode(label), os.fsencode(path.name)])).digest()
