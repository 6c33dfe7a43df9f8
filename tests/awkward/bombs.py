"""Files that promise or demand far more than they are: small to send, large or slow to decode."""

import struct
import zlib
from functools import partial

from tests.awkward.case import BROKEN, TOO_LARGE, Case, bad, good, plain
from tests.awkward.encoding import PNG_START, bmp, chunk, encoded, jpeg_segment, tiff
from tests.awkward.frames import heic

__all__ = ["BOMBS"]

_FAR = 60_000  # pixels of a side: 3.6 billion in all
_DEFLATE, _LONG = 8, 4
_TILE_WIDTH, _TILE_HEIGHT, _TILE_PLACE, _TILE_LENGTH = 322, 323, 324, 325


def _png_of(width: int, height: int) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return PNG_START + header + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


def _with_chunk(kind: bytes, content: bytes) -> bytes:
    data = encoded(plain(), "PNG")
    return data[:33] + chunk(kind, content) + data[33:]


def _zeros() -> bytes:
    """100 MB of zeros, packed into 100 kB."""
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(2**20)) for _ in range(100)) + packer.flush()


def _patched(data: bytes, place: int, content: bytes) -> bytes:
    return data[:place] + content + data[place + len(content) :]


def _gif_of(width: int, height: int) -> bytes:
    return _patched(encoded(plain(), "GIF"), 6, struct.pack("<HH", width, height))


def _gif_with_frame(width: int, height: int) -> bytes:
    """The canvas stays as it is: the frame says that it is larger."""
    data = encoded(plain(), "GIF")
    return _patched(data, data.index(b",", 13 + 3 * 4) + 5, struct.pack("<HH", width, height))


def _jpeg_of(width: int, height: int) -> bytes:
    data = encoded(plain(), "JPEG")
    return _patched(data, data.index(b"\xff\xc0") + 5, struct.pack(">HH", height, width))


def _webp_of(width: int, height: int) -> bytes:
    """The canvas of an extended file is one claim, the picture in it another."""
    data = encoded(plain("RGBA"), "WEBP", exif=b"Exif\0\0x")
    return _patched(data, 24, (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"))


def _boxed(data: bytes, width: int, height: int) -> bytes:
    """AVIF or HEIC with another size in its `ispe` box."""
    return _patched(data, data.index(b"ispe") + 8, struct.pack(">II", width, height))


def _tiff_with_tile(side: int) -> bytes:
    """10 x 10 pixels in one tile of that side, packed: zeros, a thousandth of their size."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(bytes(side)) for _ in range(side)) + packer.flush()
    places = {_TILE_PLACE: (_LONG, 1, 8), _TILE_LENGTH: (_LONG, 1, len(packed))}
    sides = {_TILE_WIDTH: (_LONG, 1, side), _TILE_HEIGHT: (_LONG, 1, side)}
    return tiff((10, 10), packed, tags={259: (_LONG, 1, _DEFLATE)} | places | sides)


def _progressive(scans: int) -> bytes:
    data = encoded(plain(), "JPEG", progressive=True)
    end = data.rindex(b"\xff\xd9")
    return data[:end] + b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00" * scans + data[end:]


def _many_comments() -> bytes:
    data = encoded(plain(), "JPEG")
    return data[:2] + jpeg_segment(0xFE, b"x") * 20_000 + data[2:]


def _too_many_pixels() -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 48, 8, 2, 0, 0, 0))
    return PNG_START + header + chunk(b"IDAT", _zeros()) + chunk(b"IEND", b"")


def _chunks(count: int) -> bytes:
    data = encoded(plain(), "PNG")
    return data[:33] + chunk(b"teSt", b"") * count + data[33:]


BOMBS: list[Case] = [
    *(
        bad(
            f"png that says {width} x {height}",
            "a header of 3.6 billion pixels or more, and a thousand bytes",
            partial(_png_of, width, height),
            TOO_LARGE,
        )
        for width, height in ((_FAR, _FAR), (2**31 - 1, 2**31 - 1))
    ),
    bad("jpeg that says 60000 x 60000", "and holds 64 x 48", partial(_jpeg_of, _FAR, _FAR), TOO_LARGE),
    bad(
        "jpeg of no height",
        "to be told later by a DNL segment, which hardly any decoder reads",
        partial(_jpeg_of, 64, 0),
        BROKEN,
    ),
    good(
        "jpeg that says 640 x 480",
        "and holds 64 x 48, with a proper end: it is as it says, the rest is filled up",
        partial(_jpeg_of, 640, 480),
        look=None,
        size=(640, 480),
    ),
    bad("gif with a canvas of 60000 x 60000", "around 64 x 48 pixels", partial(_gif_of, _FAR, _FAR), TOO_LARGE),
    bad("gif with a frame of 60000 x 60000", "on a canvas of 64 x 48", partial(_gif_with_frame, _FAR, _FAR), TOO_LARGE),
    bad("bmp that says 60000 x 60000", "in 78 bytes", lambda: bmp((_FAR, _FAR), bytes(24)), TOO_LARGE),
    bad(
        "bmp that says -60000 rows",
        "upside down is no way around the limit",
        lambda: bmp((_FAR, -_FAR), bytes(24)),
        TOO_LARGE,
    ),
    bad("bmp that says 640 x 480", "and holds 8 pixels", lambda: bmp((640, 480), bytes(24)), BROKEN),
    bad("webp that says 16000 x 16000", "around 64 x 48 pixels", partial(_webp_of, 16_000, 16_000), TOO_LARGE),
    *(
        bad(
            f"{name} that says {width} x {height}",
            f"and holds {held}",
            partial(lambda make, *size: _boxed(make(), *size), make, width, height),
            answer,
        )
        for name, make, held, sizes in (
            ("avif", partial(encoded, plain(), "AVIF"), "64 x 48", (((_FAR, _FAR), BROKEN),)),
            ("heic", heic, "64 x 64", (((_FAR, _FAR), TOO_LARGE), ((8, 8), BROKEN))),
        )
        for (width, height), answer in sizes
    ),
    good(
        "avif that says 8 x 8",
        "and holds 64 x 48: scaled to what it says",
        lambda: _boxed(encoded(plain(), "AVIF"), 8, 8),
        look=None,
        size=(8, 8),
    ),
    bad("tiff that says 60000 x 60000", "and holds 64 x 48", lambda: tiff((_FAR, _FAR), bytes(64 * 48)), TOO_LARGE),
    bad(
        "tiff with 2.4 million strips",
        "an absurd count",
        lambda: tiff((8, 8), bytes(64), tags={273: (_LONG, 2_400_000, 8), 279: (_LONG, 2_400_000, 8)}),
        BROKEN,
    ),
    bad(
        "tiff with a tile of 12000 x 12000",
        "around 10 x 10 pixels: decoding takes the whole tile",
        partial(_tiff_with_tile, 12_000),
        BROKEN,
    ),
    good(
        "tiff with a tile of 256 x 256",
        "around 10 x 10 pixels, as encoders write it",
        partial(_tiff_with_tile, 256),
        look=((0, 0, 0),) * 4,
        size=(10, 10),
    ),
    bad(
        "png with 100 MB in its profile",
        "iCCP, packed to 100 kB",
        lambda: _with_chunk(b"iCCP", b"x\0\0" + _zeros()),
        BROKEN,
    ),
    bad(
        "png with 100 MB in a remark",
        "zTXt, packed to 100 kB",
        lambda: _with_chunk(b"zTXt", b"x\0\0" + _zeros()),
        BROKEN,
    ),
    bad(
        "png with 100 MB in a remark of the other kind",
        "iTXt, packed to 100 kB",
        lambda: _with_chunk(b"iTXt", b"x\0\1\0\0\0" + _zeros()),
        BROKEN,
    ),
    good(
        "png with 100 MB too many pixels",
        "IDAT goes on long after the last row: not read",
        _too_many_pixels,
        look=((0, 0, 0),) * 4,
    ),
    good(
        "png with 16,000 empty chunks",
        "more than encoders write, fewer than the limit of 20,000",
        partial(_chunks, 16_000),
    ),
    bad("jpeg in 150 scans", "each goes over the whole picture", partial(_progressive, 150), BROKEN),
    good("jpeg with 20,000 comments", "they cost nothing", _many_comments, tolerance=8),
]
