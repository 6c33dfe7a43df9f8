"""Every mode that Pillow can write in each format, and the bit depths that only other programs write."""

import struct
from functools import partial

import numpy as np
from PIL import Image

from tests.awkward.case import BROKEN, COLOURS, GREEN, GREY, GREYS, PLAIN_SIZE, WHITE, Case, Look, bad, good, plain
from tests.awkward.encoding import bmp, chunk, encoded, png, tiff

__all__ = ["MODES"]

_HALVES: Look = (WHITE, (0, 0, 0), (0, 0, 0), WHITE)
_RAMP: Look = ((0, 0, 0), (85, 85, 85), (170, 170, 170), WHITE)
_WRITTEN = {
    "PNG": "1 L LA P RGB RGBA I;16",
    "TIFF": "1 L LA P PA RGB RGBA CMYK YCbCr LAB I I;16 I;16B F",
    "JPEG": "1 L RGB CMYK YCbCr",
    "WEBP": "L LA RGB RGBA",
    "GIF": "1 L P RGBA",
    "BMP": "1 L P RGB RGBA",
    "AVIF": "L LA RGBA",
}
# What the loss of each format may cost in the middle of a quarter; a palette of GIF is exact for four colours.
_LOSS = {"JPEG": 8, "WEBP": 12, "AVIF": 12}


def _in_mode(mode: str) -> Image.Image:
    match mode:
        case "1":
            return plain(look=_HALVES).convert("1")
        case "P" | "PA":
            return plain().quantize(4).convert(mode)
        case "I" | "I;16" | "I;16B":
            values = np.asarray(plain("L", look=_RAMP)).astype(np.uint16) * 257
            if mode == "I":
                return Image.fromarray(values.astype(np.int32))
            return Image.frombytes(mode, PLAIN_SIZE, values.astype(">u2" if mode == "I;16B" else "<u2").tobytes())
        case "F":
            return Image.fromarray(np.asarray(plain("L", look=_RAMP)).astype(np.float32) / 255 - 0.5)
        case "LA" | "RGBA":
            opaque = Image.new("L", PLAIN_SIZE, 255)
            opaque.paste(0, (PLAIN_SIZE[0] // 2, PLAIN_SIZE[1] // 2, *PLAIN_SIZE))
            picture = plain(mode)
            picture.putalpha(opaque)
            return picture
    return plain(mode)


def _look(kind: str, mode: str) -> Look:
    if mode in ("LA", "RGBA"):  # the last quarter is transparent, which BMP writes and Pillow does not read
        colours = GREYS if mode == "LA" else COLOURS
        return colours if kind == "BMP" else (*colours[:3], WHITE)
    if mode == "1":
        return _HALVES
    if mode == "L":
        return GREYS
    return _RAMP if mode.startswith(("I", "F")) else COLOURS


def _mode(kind: str, mode: str) -> Case:
    tolerance = _LOSS.get(kind, 0) + {"YCbCr": 3, "LAB": 10, "CMYK": 2, "1": 0}.get(mode, 0)
    name = f"{kind.lower()} in mode {mode}"
    return good(
        name, "as Pillow writes it", lambda: encoded(_in_mode(mode), kind), look=_look(kind, mode), tolerance=tolerance
    )


def _packed(depth: int, look: Look = _RAMP) -> bytes:
    """Rows of grey samples of 1, 2 or 4 bits, each with the filter byte of a PNG."""
    values = np.asarray(plain("L", look=look)).astype(np.uint16) * (2**depth - 1) // 255
    bits = (values[..., None] >> np.arange(depth - 1, -1, -1)) & 1
    rows = np.packbits(bits.reshape(PLAIN_SIZE[1], -1).astype(np.uint8), axis=1)
    return b"".join(b"\0" + row.tobytes() for row in rows)


def _rows(array: np.ndarray[tuple[int, ...], np.dtype[np.uint16]]) -> bytes:
    return b"".join(b"\0" + row.astype(">u2").tobytes() for row in array)


def _colours_of_16_bits(alpha: bool) -> bytes:
    values = np.asarray(plain("RGBA")).astype(np.uint16) * 257
    if alpha:
        values[24:, 32:, 3] = 0
    return _rows(values if alpha else values[..., :3])


def _tiff_of_32_bits(order: str, kind: str) -> bytes:
    """Samples of four bytes: "u" unsigned, "i" signed, "f" floating."""
    values = np.asarray(plain("L", look=_RAMP)).astype(np.float64)
    scaled = (values / 255 if kind == "f" else values * 1_000_000).astype(f"{order}{kind}4")
    tags = {339: (4, 1, {"u": 1, "i": 2, "f": 3}[kind])}
    return tiff(PLAIN_SIZE, scaled.tobytes(), bits=(32,), order=order, tags=tags)


def _grey_png(depth: int) -> bytes:
    return png(PLAIN_SIZE, depth, 0, _packed(depth))


def _palette_png(depth: int, used: int) -> bytes:
    """Four quarters with the indices 0 to 3; `used` colours are in the palette."""
    ramp: Look = ((0,) * 3, (85,) * 3, (170,) * 3, (255,) * 3)
    indices = _packed(depth, ramp) if depth < 8 else b""
    colours = np.array(COLOURS[:used], np.uint8).tobytes()
    return png(PLAIN_SIZE, depth, 3, indices, chunk(b"PLTE", colours))


def _bmp_rows(bottom_up: bool) -> bytes:
    pixels = np.asarray(plain())[..., ::-1]
    return (pixels[::-1] if bottom_up else pixels).tobytes()


def _planar() -> bytes:
    planes = np.asarray(plain()).transpose(2, 0, 1).tobytes()
    size = PLAIN_SIZE[0] * PLAIN_SIZE[1]
    start = 8 + len(planes)
    lists = struct.pack(">6I", 8, 8 + size, 8 + 2 * size, size, size, size)
    # The two lists lie behind the pixels, and count as pixels for what makes the rest of the file.
    tags = {273: (4, 3, start), 279: (4, 3, start + 12), 284: (4, 1, 2)}
    return tiff(PLAIN_SIZE, planes + lists, bits=(8, 8, 8), photometric=2, order=">", tags=tags)


_BY_HAND = [
    *(
        good(
            f"png of {depth} bit grey",
            "samples narrower than a byte",
            partial(_grey_png, depth),
            look=_RAMP,
        )
        for depth in (2, 4)
    ),
    good("png of 2 bit palette", "four colours, two bits a pixel", partial(_palette_png, 2, 4)),
    good(
        "png with a short palette",
        "one pixel value beyond the palette's end: any colour will do",
        partial(_palette_png, 2, 3),
        look=None,
    ),
    good(
        "png of 16 bit colour", "the upper eight bits count", lambda: png(PLAIN_SIZE, 16, 2, _colours_of_16_bits(False))
    ),
    good(
        "png of 16 bit colour with alpha",
        "the transparent quarter is white",
        lambda: png(PLAIN_SIZE, 16, 6, _colours_of_16_bits(True)),
        look=(*COLOURS[:3], WHITE),
    ),
    good(
        "png with a transparent colour",
        "tRNS: all of that colour is white",
        lambda: encoded(plain(), "PNG", transparency=GREEN),
        look=(COLOURS[0], WHITE, COLOURS[2], COLOURS[3]),
    ),
    good(
        "png with a transparent palette entry",
        "tRNS: that entry is white",
        lambda: png(
            PLAIN_SIZE, 2, 3, _packed(2), chunk(b"PLTE", np.array(COLOURS, np.uint8).tobytes()), chunk(b"tRNS", b"\0")
        ),
        look=(WHITE, *COLOURS[1:]),
    ),
    good(
        "png with more transparency than palette",
        "tRNS is longer than PLTE: the rest of it means nothing",
        lambda: png(
            PLAIN_SIZE,
            2,
            3,
            _packed(2),
            chunk(b"PLTE", np.array(COLOURS, np.uint8).tobytes()),
            chunk(b"tRNS", b"\xff" * 99),
        ),
    ),
    good(
        "png of half transparent red",
        "alpha lies on white",
        lambda: encoded(Image.new("RGBA", PLAIN_SIZE, (200, 40, 40, 128)), "PNG"),
        look=((227, 147, 147),) * 4,
        tolerance=1,
    ),
    *(
        good(
            f"tiff of 32 bits, {name}, {place}",
            "stretched from its least to its greatest value",
            partial(_tiff_of_32_bits, order, kind),
            look=_RAMP,
            tolerance=1,
        )
        for order, place in (("<", "little endian"), (">", "big endian"))
        for kind, name in (("u", "unsigned"), ("i", "signed"), ("f", "floating"))
        if (order, kind) != (">", "u")
    ),
    bad(
        "tiff of 32 bits, unsigned, big endian",
        "the one order of bytes of these that Pillow does not know",
        partial(_tiff_of_32_bits, ">", "u"),
        BROKEN,
    ),
    good(
        "tiff with white as 0",
        "the least value is white",
        lambda: tiff(PLAIN_SIZE, np.asarray(plain("L", look=_RAMP)).tobytes(), photometric=0),
        look=((255,) * 3, (170,) * 3, (85,) * 3, (0,) * 3),
    ),
    good(
        "tiff in planes, big endian",
        "all red first, then all green, then all blue",
        _planar,
    ),
    good(
        "tiff, floating, not a number",
        "NaN and infinities are black or white, the rest keeps its range",
        lambda: tiff(
            (4, 2),
            np.array([np.nan, np.inf, -np.inf, 0, 0.25, 0.5, 0.75, 1], "<f4").tobytes(),
            bits=(32,),
            tags={339: (4, 1, 3)},
        ),
        look=None,
        size=(4, 2),
    ),
    good(
        "bmp upside down",
        "a negative height: the highest row first",
        lambda: bmp((64, -48), _bmp_rows(bottom_up=False)),
    ),
    good("bmp with the lowest row first", "the usual order", lambda: bmp((64, 48), _bmp_rows(bottom_up=True))),
    good(
        "bmp of 16 bits",
        "five bits a channel",
        lambda: bmp((64, 48), struct.pack("<H", 0b0_11001_00101_00101) * (64 * 48), bits=16),
        look=((205, 41, 41),) * 4,
        tolerance=8,
    ),
    good(
        "bmp with run lengths",
        "RLE8, which the format allows and nearly nobody writes",
        lambda: bmp(
            (64, 48), b"\x40\x01\0\0" * 48 + b"\0\1", bits=8, compression=1, palette=bytes(4) + bytes((*GREY, 0))
        ),
        look=(GREY,) * 4,
    ),
]


MODES = [_mode(kind, mode) for kind, modes in _WRITTEN.items() for mode in modes.split()] + _BY_HAND
