"""Image bytes -> one upright RGB picture on white, or an error that says why not.

The same decoder serves training and serving; `DECODER` names its version and is part of what identifies
features, because another decoder makes other features of the same bytes.
"""

import contextlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pi_heif
from PIL import ExifTags, Image, ImageCms, ImageOps, UnidentifiedImageError

from embedding.decode_cost import check_decode_cost
from embedding.errors import BadImage, BrokenImage, ImageTooLarge, UnsupportedImage
from embedding.reduction import Decoded, Resolution, reduction
from embedding.signature import claimed_format

__all__ = ["DECODER", "FILE_SUFFIXES", "SUPPORTED_FORMATS", "ImageLimits", "decode_image", "decode_reduced"]

Image.init()  # registers all of Pillow's decoders now, not within the first request
pi_heif.register_heif_opener()

DECODER = "samekind-2"

# Pillow's names; its JPEG covers MPO, the JPEG with a second picture behind it that many phones write. Formats that run
# code or call other programs (EPS, WMF) and the dozens of rare ones stay shut: each open decoder is attack surface.
SUPPORTED_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "AVIF", "HEIF")

_REDUCIBLE = ("JPEG", "MPO")  # Pillow's names of what libjpeg reads
# EXIF orientations that exchange width and height; whose rows begin at the right; whose columns begin at the bottom
_LYING, _FROM_THE_RIGHT, _FROM_BELOW = (5, 6, 7, 8), (2, 3, 6, 7), (3, 4, 7, 8)

# File names only decide what is listed in a folder; what a file really is, the decoder finds out from its bytes.
FILE_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp", ".avif", ".heic", ".heif"}
)

_WHITE = (255, 255, 255)
_SIXTEEN_BIT = 65535.0


@dataclass(frozen=True)
class ImageLimits:
    """What a picture may cost before it is refused."""

    max_bytes: int = 20 * 2**20  # a 48-megapixel JPEG of a phone is about 12 MiB
    max_pixels: int = 60_000_000  # decoded RGB of that size is 180 MB of memory


def decode_image(data: bytes, limits: ImageLimits = ImageLimits()) -> Image.Image:
    """Decode the first frame, upright (EXIF orientation applied), alpha laid on white, as 8-bit sRGB.

    Colour profiles are converted to sRGB. 16-bit grey keeps its full range (65535 is white); 32-bit integers and
    floats have no fixed white and are stretched from their own least to their own greatest value.

    Raises: UnsupportedImage (empty, no image, another format), BrokenImage (truncated, damaged),
    ImageTooLarge (over a limit; the pixel limit is checked on the header, before memory is spent).
    """
    return _loaded(_checked(data, limits))


def decode_reduced(data: bytes, resolution: Resolution, limits: ImageLimits = ImageLimits()) -> Decoded:
    """As `decode_image`, a large JPEG at 1/2, 1/4 or 1/8 of its size if that still is twice what is needed.

    resolution: asked for a JPEG of that size, upright, before its pixels are decoded; what it raises is passed on.
    How far that moves pixels and features is said, and bounded, in `embedding.reduction`.
    """
    image = _checked(data, limits)
    if image.format not in _REDUCIBLE:
        whole = _loaded(image)
        return Decoded(whole, *whole.size)
    orientation = _orientation(image)
    width, height = image.size[::-1] if orientation in _LYING else image.size
    factor = _reduce(image, reduction(width, height, resolution(width, height)))
    small = _loaded(image)
    left = small.width - width / factor if orientation in _FROM_THE_RIGHT else 0.0
    top = small.height - height / factor if orientation in _FROM_BELOW else 0.0
    return Decoded(small, width, height, factor, left, top)


def _reduce(image: Image.Image, factor: int) -> int:
    """Tell the decoder, before it begins; returns by how much it will divide the sides, rounding up."""
    width, height = image.size
    if factor > 1:
        image.draft(None, (width // factor, height // factor))  # the least size that will do
    return round(width / image.width)


def _checked(data: bytes, limits: ImageLimits) -> Image.Image:
    """The header, with the limits kept."""
    if not data:
        raise UnsupportedImage("The file is empty (0 bytes): send the bytes of an image.")
    if len(data) > limits.max_bytes:
        raise ImageTooLarge(
            f"The file has {len(data):,} bytes, the limit is {limits.max_bytes:,}: send a smaller version."
        )
    check_decode_cost(data)
    image = _open(data)
    width, height = image.size
    if width * height > limits.max_pixels:
        raise ImageTooLarge(
            f"The picture has {width} x {height} = {width * height:,} pixels, "
            f"the limit is {limits.max_pixels:,}: send a smaller version."
        )
    return image


def _loaded(image: Image.Image) -> Image.Image:
    """Decode the pixels."""
    try:
        image.load()
        _turn_upright(image)
        return _to_rgb(image)
    except MemoryError:
        raise
    except Exception as error:  # decoders fed with damaged bytes raise whatever they like; all of it means this
        raise BrokenImage(f"The {image.format} image is truncated or damaged: {error}") from error


def _open(data: bytes) -> Image.Image:
    """Read the header only."""
    try:
        return Image.open(io.BytesIO(data), formats=SUPPORTED_FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ImageTooLarge(f"The picture is over the pixel limit: {error}") from error
    except UnidentifiedImageError as error:
        raise _unidentified(data) from error
    except MemoryError:
        raise
    except Exception as error:
        if claimed_format(data) is None:  # Pillow takes every text that begins with BM for a bitmap
            raise _unidentified(data) from error
        raise BrokenImage(f"The image's header is damaged: {error}") from error


def _unidentified(data: bytes) -> BadImage:
    formats = ", ".join(SUPPORTED_FORMATS)
    if claimed := claimed_format(data):
        return BrokenImage(
            f"These {len(data):,} bytes begin like a {claimed} image, but cannot be read as one: the file is cut off, "
            f"damaged or of a rare kind. Save it anew, or convert it to one of {formats}."
        )
    return UnsupportedImage(
        f"These {len(data):,} bytes are no image in a supported format ({formats}), "
        "whatever the file name says: convert it to one of them."
    )


def _orientation(image: Image.Image) -> int:
    """Of a JPEG whose header alone was read."""
    try:
        return int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # as below
        return 1


def _turn_upright(image: Image.Image) -> None:
    # The pixels are sound; a broken EXIF block only means that nobody can know the orientation.
    with contextlib.suppress(Exception):
        ImageOps.exif_transpose(image, in_place=True)


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode in ("P", "PA") and image.palette is None:
        image = image.copy()  # which has one
    if image.mode.startswith(("I", "F")):
        return _stretch_to_8_bit(image).convert("RGB")
    if image.has_transparency_data:
        image = _on_white(image)
    if image.mode == "P":
        image = image.convert("RGB")
    return _to_srgb(image)


def _stretch_to_8_bit(image: Image.Image) -> Image.Image:
    values = np.asarray(image)
    low, high = _range(image.mode, values)
    scale = 255.0 / (high - low) if high > low else 0.0
    grey = np.empty(values.shape, np.uint8)
    for row, source in enumerate(values):  # row by row: float64 of 60 million pixels would take half a gigabyte
        finite = np.nan_to_num(source.astype(np.float64), posinf=0.0, neginf=0.0)
        grey[row] = np.rint(np.clip((finite - low) * scale, 0, 255))
    transparent = image.info.get("transparency")
    if isinstance(transparent, int):
        grey[values == transparent] = _WHITE[0]
    return Image.fromarray(grey)


def _range(mode: str, values: npt.NDArray[Any]) -> tuple[float, float]:
    """What becomes black and what becomes white."""
    if mode.startswith("I;16"):
        return 0.0, _SIXTEEN_BIT
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    if mode == "I" and low >= 0 and 255 < high <= _SIXTEEN_BIT:
        return 0.0, _SIXTEEN_BIT  # 16-bit samples that came in a 32-bit container
    return low, high


def _on_white(image: Image.Image) -> Image.Image:
    rgba = image.convert("RGBA")
    flat = Image.new("RGB", rgba.size, _WHITE)
    flat.paste(rgba, mask=rgba.getchannel("A"))
    if profile := image.info.get("icc_profile"):
        flat.info["icc_profile"] = profile
    return flat


def _to_srgb(image: Image.Image) -> Image.Image:
    profile = image.info.get("icc_profile")
    if not profile or image.mode not in ("L", "RGB", "CMYK") or b"sRGB" in profile:
        return _plain(image)
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError):
        return _plain(image)  # a damaged or foreign profile: the plain values are the best guess
    return converted if converted is not None else _plain(image)


def _plain(image: Image.Image) -> Image.Image:
    return image if image.mode == "RGB" else image.convert("RGB")  # which copies always
