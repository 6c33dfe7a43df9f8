"""Animations, several pages, and shapes that are hardly pictures."""

from functools import partial
from typing import Any

from PIL import Image

from tests.awkward.case import COLOURS, PLAIN_SIZE, RED, TOO_LARGE, WHITE, Case, bad, good, plain
from tests.awkward.encoding import encoded

__all__ = ["FRAMES", "heic"]

_OTHER_FRAMES = [Image.new("RGB", PLAIN_SIZE, colour) for colour in ((0, 0, 0), (250, 250, 0))]


def heic() -> bytes:
    """Red over blue, 64 x 64; a file, because nothing at hand writes HEVC."""
    from tests.embedding.test_image import HEIC

    return HEIC.read_bytes()


def _frames(kind: str, **options: Any) -> bytes:
    return encoded(plain(), kind, save_all=True, append_images=_OTHER_FRAMES, **options)


def _one_colour(kind: str, size: tuple[int, int], **options: Any) -> bytes:
    return encoded(Image.new("RGB", size, RED), kind, **options)


def _gif_with_a_small_frame() -> bytes:
    """A canvas of 64 x 48, of which the first frame covers the upper left quarter; the rest is transparent."""
    data = bytearray(encoded(Image.new("RGB", (32, 24), RED), "GIF"))
    data[6:10] = b"\x40\0\x30\0"
    return bytes(data)


def _animation_from_a_palette() -> bytes:
    first = plain().quantize(4)
    return encoded(first, "GIF", save_all=True, append_images=[plain(look=COLOURS[::-1]).quantize(4)], disposal=2)


def _transparent_gif() -> bytes:
    picture = plain().quantize(4)
    grey = picture.getpixel((48, 36))
    return encoded(picture, "GIF", transparency=grey)


_ANIMATED: list[Case] = [
    *(
        good(f"{kind.lower()} of three frames", "the first one counts", partial(_frames, kind), tolerance=tolerance)
        for kind, tolerance in (("GIF", 0), ("WEBP", 12), ("PNG", 0), ("AVIF", 12), ("TIFF", 0), ("MPO", 8))
    ),
    good(
        "png whose animation leaves its first picture out",
        "APNG with a default image: that is the one to show",
        partial(_frames, "PNG", default_image=True),
    ),
    good("gif that clears each frame", "the first one counts", _animation_from_a_palette),
    good(
        "gif whose frame is smaller than its canvas",
        "the canvas counts",
        _gif_with_a_small_frame,
        look=None,
    ),
    good("gif with a transparent quarter", "alpha lies on white", _transparent_gif, look=(*COLOURS[:3], WHITE)),
]


_RED_ONLY = (RED,) * 4
_SHAPES: list[Case] = [
    *(
        good(
            f"{kind.lower()} of one pixel",
            "1 x 1",
            partial(_one_colour, kind, (1, 1)),
            look=_RED_ONLY,
            tolerance=tolerance,
            size=(1, 1),
        )
        for kind, tolerance in (("PNG", 0), ("JPEG", 4), ("GIF", 0), ("WEBP", 8), ("TIFF", 0), ("BMP", 0), ("AVIF", 8))
    ),
    *(
        good(
            f"{kind.lower()}, {width} x {height}",
            "far from square",
            partial(_one_colour, kind, (width, height)),
            look=_RED_ONLY,
            tolerance=4,
            size=(width, height),
        )
        for kind in ("PNG", "JPEG")
        for width, height in ((10_000, 20), (20, 10_000))
    ),
    good(
        "png of 1000 x 1000",
        "exactly the limit of a million pixels",
        partial(_one_colour, "PNG", (1000, 1000)),
        look=_RED_ONLY,
        size=(1000, 1000),
    ),
    *(
        bad(
            f"{kind.lower()} of 1001 x 1000",
            "a row over the limit of a million pixels",
            partial(_one_colour, kind, (1001, 1000), **options),
            TOO_LARGE,
        )
        for kind, options in (
            ("PNG", {}),
            ("JPEG", {}),
            ("WEBP", {}),
            ("GIF", {}),
            ("TIFF", {"compression": "tiff_adobe_deflate"}),
            ("AVIF", {"speed": 10}),
        )
    ),
    bad(
        "bmp over the byte limit",
        "300 x 300 pixels in 270,054 bytes",
        partial(_one_colour, "BMP", (300, 300)),
        TOO_LARGE,
    ),
    good(
        "heic",
        "red over blue, from a file: nothing at hand writes it",
        heic,
        look=((200, 30, 30), (200, 30, 30), (30, 30, 200), (30, 30, 200)),
        tolerance=30,
        size=(64, 64),
    ),
]

FRAMES = _ANIMATED + _SHAPES
