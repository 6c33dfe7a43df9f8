"""Colour profiles, ink colours, orientation and what else stands beside the pixels."""

import struct
from functools import partial
from typing import Any

import numpy as np
from PIL import ExifTags, Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from tests.awkward.case import BLUE, GREEN, GREY, GREYS, RED, Case, Colour, good, plain
from tests.awkward.encoding import PNG_START, chunk, encoded, icc_profile, jpeg_segment, png

__all__ = ["COLOUR", "ORIENTATIONS", "turned"]

ORIENTATIONS = range(1, 9)
_KINDS = {"JPEG": 8, "TIFF": 0, "PNG": 0, "WEBP": 12, "AVIF": 12}  # and what the loss of each may cost
_STORED_AS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
# XYZ of the primaries, adapted to D50.
_SRGB = ((0.4360, 0.2225, 0.0139), (0.3851, 0.7169, 0.0971), (0.1431, 0.0606, 0.7139))
_DISPLAY_P3 = ((0.5151, 0.2412, -0.0011), (0.2920, 0.6922, 0.0419), (0.1571, 0.0666, 0.7841))
# (128, 128, 128) at gamma 1 is half the light, which sRGB writes as 188; the corners stay corners.
_HALF_LIGHT: Colour = (188, 188, 188)


def turned(kind: str, orientation: int, picture: Image.Image | None = None, **options: Any) -> bytes:
    """The plain picture, or another, stored turned, with the EXIF orientation that turns it back."""
    upright = picture or plain()
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    stored = upright.transpose(_STORED_AS[orientation]) if orientation in _STORED_AS else upright
    return encoded(stored, kind, exif=exif, **options)


def _adobe_cmyk(inverted: bool) -> bytes:
    """As Photoshop writes it: inverted, and an Adobe segment says so. Pillow's own lacks nothing but that segment."""
    data = encoded(plain("CMYK"), "JPEG", quality=95)
    adobe = jpeg_segment(0xEE, b"Adobe" + struct.pack(">HHHB", 100, 0, 0, 0))
    start = data.index(b"\xff\xee") if b"\xff\xee" in data else None
    if start is not None:
        (length,) = struct.unpack_from(">H", data, start + 2)
        data = data[:start] + data[start + 2 + length :]
    return data[:2] + adobe + data[2:] if inverted else data


def _lab_profile() -> bytes:
    return bytes(ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes())


def _with_profile(profile: bytes, kind: str = "PNG", mode: str = "RGB", **options: Any) -> bytes:
    return encoded(plain(mode), kind, icc_profile=profile, **options)


def _linear_half() -> bytes:
    return encoded(Image.new("RGB", (64, 48), GREY), "PNG", icc_profile=icc_profile(1.0, _SRGB))


def _exif(content: bytes, kind: str = "JPEG") -> bytes:
    return encoded(plain(), kind, exif=content)


def _damaged_profile_png() -> bytes:
    data = encoded(plain(), "PNG")
    return data[:33] + chunk(b"iCCP", b"bad\0\0not zlib") + data[33:]


def _odd_metadata() -> bytes:
    """A colour type, a gamma, a physical size and a time that make no sense."""
    data = encoded(plain(), "PNG", pnginfo=PngInfo())
    odd = chunk(b"gAMA", bytes(4)) + chunk(b"pHYs", b"\xff" * 9) + chunk(b"tIME", b"\xff" * 7) + chunk(b"sRGB", b"\xff")
    return data[: len(PNG_START) + 25] + odd + data[len(PNG_START) + 25 :]


def _fax() -> Image.Image:
    return plain(look=((255,) * 3, (0,) * 3, (0,) * 3, (255,) * 3)).convert("1")


def _exif_behind() -> bytes:
    """The plain picture turned, with its orientation in a chunk behind the pixels."""
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    data = encoded(plain().transpose(_STORED_AS[6]), "PNG")
    return data[:-12] + chunk(b"eXIf", exif.tobytes()[6:]) + data[-12:]


def _interlaced() -> bytes:
    """One byte a pixel of the plain picture's palette, pass by pass."""
    indices = np.asarray(plain("L", look=((0,) * 3, (1,) * 3, (2,) * 3, (3,) * 3)))
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = [row for top, left, down, right in passes for row in indices[top::down, left::right]]
    pixels = b"".join(b"\0" + row.tobytes() for row in rows)
    palette = chunk(b"PLTE", bytes(RED + GREEN + BLUE + GREY))
    return png((64, 48), 8, 3, pixels, palette, interlace=1)


COLOUR: list[Case] = [
    *(
        good(
            f"{kind.lower()} with orientation {orientation}",
            "turned by its EXIF block",
            partial(turned, kind, orientation),
            tolerance=loss,
        )
        for kind, loss in _KINDS.items()
        for orientation in ORIENTATIONS
    ),
    good("jpeg with orientation 9", "there are only 8: as it is", partial(turned, "JPEG", 9), tolerance=8),
    good("tiff with orientation 9", "there are only 8: as it is", partial(turned, "TIFF", 9)),
    good("jpeg with orientation 0", "there is none: as it is", partial(turned, "JPEG", 0), tolerance=8),
    good("jpeg with a broken exif block", "the pixels are sound", partial(_exif, b"Exif\0\0broken"), tolerance=8),
    good(
        "jpeg with an exif block that points nowhere",
        "its directory lies beyond its end",
        partial(_exif, b"Exif\0\0II*\0\xff\xff\xff\xff"),
        tolerance=8,
    ),
    good(
        "jpeg with an exif block that is cut off",
        "one entry is promised and missing",
        partial(_exif, b"Exif\0\0MM\0*\0\0\0\x08\0\1"),
        tolerance=8,
    ),
    good("png with a broken exif block", "the pixels are sound", partial(_exif, b"Exif\0\0broken", "PNG")),
    good(
        "png with orientation 6 told after the pixels",
        "eXIf may stand behind IDAT",
        _exif_behind,
    ),
    good(
        "jpeg in ink colours",
        "CMYK as Photoshop writes it, with its Adobe segment",
        partial(_adobe_cmyk, True),
        tolerance=10,
    ),
    good(
        "jpeg in ink colours without a word on them",
        "without an Adobe segment: taken for inverted like nearly all",
        partial(_adobe_cmyk, False),
        tolerance=10,
    ),
    good(
        "jpeg of bare RGB",
        "stored without turning it into YCbCr",
        lambda: encoded(plain(), "JPEG", keep_rgb=True),
        tolerance=4,
    ),
    good(
        "jpeg in grey with a profile for colour",
        "the profile cannot mean it: passed over",
        lambda: _with_profile(icc_profile(2.2, _SRGB), "JPEG", "L"),
        look=GREYS,
        tolerance=4,
    ),
    good(
        "png with linear light",
        "a profile of gamma 1: half the light is 188 in sRGB",
        _linear_half,
        look=(_HALF_LIGHT,) * 4,
        tolerance=1,
    ),
    good(
        "png in Display P3",
        "a wide gamut: the same numbers are stronger colours in sRGB",
        partial(_with_profile, icc_profile(2.2, _DISPLAY_P3)),
        look=((220, 0, 17), (0, 154, 39), (35, 35, 199), (129, 129, 129)),  # by the matrices of both, clipped
        tolerance=3,
    ),
    good(
        "png with the profile of another kind",
        "Lab, which no PNG is in: passed over",
        lambda: _with_profile(_lab_profile()),
    ),
    good("png with a profile that is none", "passed over", partial(_with_profile, b"nonsense")),
    good("webp with a profile that is none", "passed over", partial(_with_profile, b"nonsense", "WEBP"), tolerance=12),
    good("png with a profile that is no zlib stream", "passed over", _damaged_profile_png),
    good(
        "png with senseless remarks", "gamma 0, a month 255, a size of 4 billion: they change no pixel", _odd_metadata
    ),
    good(
        "jpeg with a long comment",
        "65,533 bytes of it",
        lambda: encoded(plain(), "JPEG", comment=b"x" * 65_533),
        tolerance=8,
    ),
    good("jpeg, progressive", "in several scans", lambda: encoded(plain(), "JPEG", progressive=True), tolerance=8),
    good(
        "jpeg, colours at a quarter",
        "4:2:0 with restart markers",
        lambda: encoded(plain(), "JPEG", subsampling=2, restart_marker_rows=1),
        tolerance=12,
    ),
    good("png, interlaced", "Adam7, in seven passes", _interlaced),
    *(
        good(
            f"tiff packed by {name}",
            "inside libtiff",
            partial(encoded, plain(), "TIFF", compression=name),
            tolerance=tolerance,
        )
        for name, tolerance in (("tiff_lzw", 0), ("tiff_adobe_deflate", 0), ("packbits", 0), ("jpeg", 12))
    ),
    good("tiff, big", "offsets of eight bytes", lambda: encoded(plain(), "TIFF", big_tiff=True)),
    good(
        "tiff packed as a fax",
        "CCITT group 4",
        lambda: encoded(_fax(), "TIFF", compression="group4"),
        look=((255,) * 3, (0,) * 3, (0,) * 3, (255,) * 3),
    ),
    good("webp without loss", "exact", lambda: encoded(plain(), "WEBP", lossless=True)),
]
