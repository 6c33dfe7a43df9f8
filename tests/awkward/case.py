"""One awkward file: its bytes and the specified answer."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from PIL import Image

__all__ = ["BLUE", "BROKEN", "COLOURS", "GREEN", "GREY", "GREYS", "OTHER", "PLAIN_SIZE", "RED", "TOO_LARGE", "WHITE"]
__all__ += ["Case", "Colour", "Look", "bad", "good", "plain"]

Colour = tuple[int, int, int]
Look = tuple[
    Colour, Colour, Colour, Colour
]  # in the middle of each quarter: upper left and right, lower left and right

RED, GREEN, BLUE, WHITE = (200, 40, 40), (40, 150, 60), (40, 40, 190), (255, 255, 255)
GREY = (128, 128, 128)
COLOURS: Look = (RED, GREEN, BLUE, GREY)
PLAIN_SIZE = (64, 48)

BROKEN, TOO_LARGE, OTHER = (422, "broken_image"), (413, "image_too_large"), (415, "unsupported_image")


def plain(mode: str = "RGB", size: tuple[int, int] = PLAIN_SIZE, look: Look = COLOURS) -> Image.Image:
    """Four quarters, each of one colour: what nearly every file here shows."""
    image = Image.new("RGB", size)
    width, height = size[0] // 2, size[1] // 2
    for number, colour in enumerate(look):
        left, top = number % 2 * width, number // 2 * height
        image.paste(colour, (left, top, size[0] if number % 2 else width, size[1] if number > 1 else height))
    return image.convert(mode)


def _grey(colour: Colour) -> Colour:
    value = round((299 * colour[0] + 587 * colour[1] + 114 * colour[2]) / 1000)
    return value, value, value


GREYS: Look = (_grey(RED), _grey(GREEN), _grey(BLUE), _grey(GREY))


@dataclass(frozen=True)
class Case:
    """A file and its answer; `size` and `look` are those of the upright picture, for the files that are accepted."""

    name: str
    what: str
    make: Callable[[], bytes]
    status: int = 201
    code: str = ""
    size: tuple[int, int] | None = None
    look: Look | None = None
    tolerance: int = 0

    @cached_property
    def data(self) -> bytes:
        return self.make()


def good(
    name: str,
    what: str,
    make: Callable[[], bytes],
    *,
    look: Look | None = COLOURS,
    tolerance: int = 0,
    size: tuple[int, int] = PLAIN_SIZE,
) -> Case:
    """A file that is accepted and looks so, each channel within the tolerance."""
    return Case(name, what, make, size=size, look=look, tolerance=tolerance)


def bad(name: str, what: str, make: Callable[[], bytes], answer: tuple[int, str]) -> Case:
    """A file that is refused, with this status and code."""
    return Case(name, what, make, *answer)
