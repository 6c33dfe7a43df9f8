"""A box of a picture: where one of the things that it shows is, such as one human of a group."""

from pathlib import Path
from typing import NamedTuple

from PIL import Image

from embedding.errors import BadImage

__all__ = ["Box", "Item", "clipped", "cut_out", "name_of"]


class Box(NamedTuple):
    """Pixels of the upright picture, counted from 0 at its top left corner; right and bottom are outside of the box."""

    left: int
    top: int
    right: int
    bottom: int

    def __str__(self) -> str:
        return f"({self.left}, {self.top})-({self.right}, {self.bottom})"


# A file and a box of its picture, or None for the whole picture.
Item = tuple[Path, Box | None]


def cut_out(picture: Image.Image, box: Box | None) -> Image.Image:
    """The pixels of the box that the picture has, all of the picture without a box. Raises: BadImage where none is."""
    return picture if box is None else picture.crop(clipped(box, *picture.size))


def clipped(box: Box | None, width: int, height: int) -> Box:
    """The part of the box within a picture, all of the picture without a box. Raises: BadImage where there is none."""
    if box is None:
        return Box(0, 0, width, height)
    inside = Box(max(box.left, 0), max(box.top, 0), min(box.right, width), min(box.bottom, height))
    if inside.left >= inside.right or inside.top >= inside.bottom:
        raise BadImage(f"The box {box} has no pixel of the picture, which is {width} x {height}: correct the box.")
    return inside


def name_of(item: Item) -> str:
    """The name of the file, with the box where there is one: "group.jpg (10, 20)-(50, 90)"."""
    path, box = item
    return path.name if box is None else f"{path.name} {box}"
