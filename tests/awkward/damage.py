"""Files that were cut, spliced or disturbed, and files that are something else."""

import gzip
import io
import struct
import zipfile
from collections.abc import Callable
from functools import partial

import numpy as np
from PIL import Image

from tests.awkward.case import BROKEN, OTHER, Case, bad, good, plain
from tests.awkward.encoding import bmp, encoded, png, without_checksum
from tests.awkward.frames import heic

__all__ = ["DAMAGE", "STRANGERS"]

_KINDS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "AVIF")
_LOSS = {"JPEG": 8, "WEBP": 12, "AVIF": 12}


def _noise(kind: str) -> bytes:
    """Incompressible, so that a cut falls into its pixels."""
    return encoded(Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)), kind)


def _cut(make: Callable[[], bytes], percent: int) -> bytes:
    data = make()
    return data[: len(data) * percent // 100]


def _header_and_noise(kind: str, kept: int) -> bytes:
    return encoded(plain(), kind)[:kept] + np.random.default_rng(1).bytes(2000)


def _with_garbage(kind: str) -> bytes:
    return encoded(plain(), kind) + b"garbage " * 100


def _joined(first: str, second: str) -> bytes:
    return encoded(plain(), first) + encoded(plain(look=((0, 0, 0),) * 4), second)


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("hello.txt", "hello")
    return file.getvalue()


def _jpeg_in_png_clothes() -> bytes:
    return b"\x89PNG\r\n\x1a\n" + encoded(plain(), "JPEG")


def _without_palette() -> bytes:
    return png((64, 48), 8, 3, bytes(65 * 48))


def _cut_off(kind: str, percent: int) -> Case:
    make = heic if kind == "HEIC" else partial(_noise, kind)
    return bad(f"{kind.lower()} cut at {percent}%", "truncated", partial(_cut, make, percent), BROKEN)


def _first_bytes(kind: str, kept: int) -> bytes:
    return encoded(plain(), kind)[:kept]


def _patched(kind: str, place: int, content: bytes) -> bytes:
    data = encoded(plain(), kind)
    return data[:place] + content + data[place + len(content) :]


def _without_header() -> bytes:
    data = encoded(plain(), "PNG")
    return data[:8] + data[33:]


def _bad_code_size() -> bytes:
    data = bytearray(encoded(plain(), "GIF"))
    data[data.index(b",") + 10] = 99
    return bytes(data)


def _endless_tiff() -> bytes:
    data = encoded(plain(), "TIFF")
    (start,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, start)
    end = start + 2 + 12 * count
    return data[:end] + data[4:8] + data[end + 4 :]


_SVG_ENTITY = (
    b'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg xmlns="http://www.w3.org/2000/svg">&x;</svg>'
)


def _boxes(brand: bytes) -> bytes:
    """The first boxes of an ISO media file, with nothing in them."""
    kind = b"ftyp" + brand + bytes(4) + brand + b"mp42"
    return struct.pack(">I", 4 + len(kind)) + kind + struct.pack(">I4s", 100, b"mdat") + bytes(92)


_CUT: list[Case] = [
    *(_cut_off(kind, percent) for kind in (*_KINDS, "HEIC") for percent in (10, 50, 90, 99)),
    *(
        bad(
            f"only the header of a {kind.lower()}", f"its first {kept} bytes", partial(_first_bytes, kind, kept), BROKEN
        )
        for kind, kept in (("JPEG", 20), ("PNG", 33), ("WEBP", 16), ("GIF", 13), ("TIFF", 8), ("BMP", 54), ("AVIF", 32))
    ),
    *(
        bad(
            f"the header of a {kind.lower()} and noise",
            "its first 40 bytes, then 2000 at random",
            partial(_header_and_noise, kind, 40),
            BROKEN,
        )
        for kind in _KINDS
    ),
]
_JOINED: list[Case] = [
    *(
        good(
            f"{kind.lower()} with garbage behind it",
            "what follows the picture means nothing",
            partial(_with_garbage, kind),
            tolerance=_LOSS.get(kind, 0),
        )
        for kind in _KINDS
    ),
    good("two jpegs in one file", "the first one counts", partial(_joined, "JPEG", "JPEG"), tolerance=8),
    good("a png with a jpeg behind it", "the first one counts", partial(_joined, "PNG", "JPEG")),
    good(
        "a gif with a zip archive behind it",
        "a polyglot: a picture for whoever takes it for one",
        lambda: encoded(plain(), "GIF") + _zip(),
    ),
    good(
        "a jpeg with a web page in its comment",
        "a polyglot: served as image/jpeg and with nosniff",
        lambda: encoded(plain(), "JPEG", comment=b"<script>alert(1)</script>"),
        tolerance=8,
    ),
]
_DISTURBED: list[Case] = [
    bad(
        "png with a wrong checksum of its header",
        "CRC of IHDR",
        lambda: without_checksum(encoded(plain(), "PNG"), b"IHDR"),
        BROKEN,
    ),
    good(
        "png with a wrong checksum of its pixels",
        "CRC of IDAT: the decoder does not look at it, and the pixels are whole",
        lambda: without_checksum(encoded(plain(), "PNG"), b"IDAT"),
    ),
    bad("a jpeg behind the signature of a png", "neither", _jpeg_in_png_clothes, BROKEN),
    good("png of indices without a palette", "PLTE is missing: any colours will do", _without_palette, look=None),
    bad("png of no width", "0 x 48", lambda: png((0, 48), 8, 2, b""), BROKEN),
    bad("png with a depth of 3 bits", "there is no such depth", lambda: png((64, 48), 3, 0, bytes(25 * 48)), BROKEN),
    bad("png with its pixels before its header", "IHDR must come first", _without_header, BROKEN),
    bad("bmp of no height", "64 x 0", lambda: bmp((64, 0), b""), BROKEN),
    bad("gif with a code size of 99", "LZW has 12 bits at most", _bad_code_size, BROKEN),
    bad("webp whose length is a lie", "RIFF says 4 GB", lambda: _patched("WEBP", 4, b"\xf0\xff\xff\xff"), BROKEN),
    bad(
        "tiff whose directory lies beyond its end",
        "an offset of 4 GB",
        lambda: _patched("TIFF", 4, b"\xf0\xff\xff\xff"),
        BROKEN,
    ),
    good("tiff whose directory is itself", "its next directory is the first one", _endless_tiff),
]
DAMAGE = _CUT + _JOINED + _DISTURBED
STRANGERS: list[Case] = [
    bad("nothing", "zero bytes", bytes, OTHER),
    bad("one byte", "a zero", lambda: bytes(1), OTHER),
    bad("a thousand zeros", "no signature", lambda: bytes(1000), OTHER),
    bad("text", "a sentence", lambda: b"BMW is a make of cars, and this is no bitmap. " * 9, OTHER),
    bad("a web page", "HTML", lambda: b"<!DOCTYPE html><html><script>alert(1)</script></html>", OTHER),
    bad(
        "svg",
        "XML that draws",
        lambda: b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><rect/></svg>',
        OTHER,
    ),
    bad("svg with an entity", "XML that reads files", lambda: _SVG_ENTITY, OTHER),
    bad("postscript", "EPS, which is a program", lambda: encoded(plain(), "EPS"), OTHER),
    bad("pdf", "with a picture in it", lambda: encoded(plain(), "PDF"), OTHER),
    bad(
        "photoshop", "PSD", lambda: b"8BPS\0\1" + bytes(6) + struct.pack(">HIIHH", 3, 48, 64, 8, 3) + bytes(500), OTHER
    ),
    *(
        bad(kind.lower(), "a format of pictures that is not accepted", partial(encoded, plain(), kind), OTHER)
        for kind in ("ICO", "TGA", "PPM", "PCX", "SGI", "DDS", "JPEG2000", "QOI")
    ),
    bad("a video", "MP4: the same container as HEIC, another brand", lambda: _boxes(b"isom"), OTHER),
    bad("a container of an unknown brand", "ftyp zzzz", lambda: _boxes(b"zzzz"), OTHER),
    bad("a container of a known brand and nothing else", "ftyp heic", lambda: _boxes(b"heic"), BROKEN),
    bad("a zip archive", "with a text in it", _zip, OTHER),
    bad("a packed svg", "SVGZ", lambda: gzip.compress(b"<svg xmlns='http://www.w3.org/2000/svg'/>", mtime=0), OTHER),
    bad(
        "a sound", "RIFF like WebP, but WAVE", lambda: b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + bytes(28), OTHER
    ),
]
