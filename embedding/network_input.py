"""Image bytes -> a network's input, by way of a picture that is decoded no larger than the input is worth."""

from collections.abc import Callable

from embedding.backbone_identity import Pixels, Preprocessing
from embedding.image import ImageLimits, decode_reduced
from embedding.reduction import Decoded, PixelBox

__all__ = ["BoxIn", "network_input", "whole"]

# Width and height of the upright picture -> the box in it, with a pixel at least.
BoxIn = Callable[[int, int], PixelBox]


def whole(width: int, height: int) -> PixelBox:
    return 0, 0, width, height


def network_input(
    data: bytes, preprocessing: Preprocessing, box: BoxIn = whole, limits: ImageLimits = ImageLimits()
) -> tuple[Pixels, Decoded]:
    """The input for a box of the picture, as if that were a picture of its own, and what was decoded.

    Raises: BadImage, as `decode_image` does, and what box raises.
    """

    def resolution(width: int, height: int) -> float:
        left, top, right, bottom = box(width, height)
        return preprocessing.resolution(right - left, bottom - top)

    decoded = decode_reduced(data, resolution, limits)
    return preprocessing.pixels(*decoded.part(box(decoded.width, decoded.height))), decoded
