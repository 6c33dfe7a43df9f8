"""Files as encoders write them, and by hand what no encoder at hand writes."""

import io
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from PIL import Image

__all__ = ["bmp", "chunk", "encoded", "icc_profile", "jpeg_segment", "png", "tiff", "without_checksum"]

PNG_START = b"\x89PNG\r\n\x1a\n"


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    """By Pillow."""
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def chunk(kind: bytes, content: bytes) -> bytes:
    """Of a PNG."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(
    size: tuple[int, int], depth: int, colour_type: int, pixels: bytes, *before: bytes, interlace: int = 0
) -> bytes:
    """`pixels` with the filter byte of each row; `before`: chunks between the header and the pixels."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", *size, depth, colour_type, 0, 0, interlace))
    return PNG_START + header + b"".join(before) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def without_checksum(data: bytes, kind: bytes) -> bytes:
    """The PNG with a wrong checksum of its first chunk of that kind."""
    start = data.index(kind)
    (length,) = struct.unpack_from(">I", data, start - 4)
    end = start + 4 + length
    return data[:end] + bytes(byte ^ 0xFF for byte in data[end : end + 4]) + data[end + 4 :]


def tiff(
    size: tuple[int, int],
    pixels: bytes,
    *,
    bits: Sequence[int] = (8,),
    photometric: int = 1,
    order: str = "<",
    tags: dict[int, tuple[int, int, int]] | None = None,
) -> bytes:
    """One uncompressed strip. `tags`: number -> (type, count, value), which win over those made here."""
    start = 8
    bits_place = start + len(pixels)
    directory = bits_place + 2 * len(bits) + 2 * (len(bits) % 2)
    bits_value = (bits[0] << (16 if order == ">" else 0)) if len(bits) == 1 else bits_place
    entries = {
        256: (4, 1, size[0]),
        257: (4, 1, size[1]),
        258: (3, len(bits), bits_value),
        259: (4, 1, 1),
        262: (4, 1, photometric),
        273: (4, 1, start),
        277: (4, 1, len(bits)),
        278: (4, 1, size[1]),
        279: (4, 1, len(pixels)),
    } | (tags or {})
    body = b"".join(struct.pack(f"{order}HHII", tag, *entry) for tag, entry in sorted(entries.items()))
    mark = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", directory)
    depths = struct.pack(f"{order}{len(bits)}H", *bits).ljust(directory - bits_place, b"\0")
    return mark + pixels + depths + struct.pack(f"{order}H", len(entries)) + body + bytes(4)


def bmp(size: tuple[int, int], pixels: bytes, *, bits: int = 24, compression: int = 0, palette: bytes = b"") -> bytes:
    """With the header of 40 bytes; rows are padded to four bytes, the lowest first unless the height is negative."""
    start = 54 + len(palette)
    info = struct.pack("<IiiHHIIiiII", 40, *size, 1, bits, compression, len(pixels), 2835, 2835, len(palette) // 4, 0)
    return b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + info + palette + pixels


def jpeg_segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def icc_profile(gamma: float, primaries: Sequence[Sequence[float]]) -> bytes:
    """A display profile written by hand from the ICC specification: XYZ of red, green and blue, and one gamma."""

    def fixed(*numbers: float) -> bytes:
        return b"".join(struct.pack(">i", round(number * 65536)) for number in numbers)

    curve = b"curv\0\0\0\0" + struct.pack(">IH", 1, round(gamma * 256)) + b"\0\0"
    white = (0.9642, 1, 0.8249)
    tags = {b"wtpt": b"XYZ \0\0\0\0" + fixed(*white)}
    for name, xyz in zip((b"r", b"g", b"b"), primaries, strict=True):
        tags |= {name + b"XYZ": b"XYZ \0\0\0\0" + fixed(*xyz), name + b"TRC": curve}
    table, body = struct.pack(">I", len(tags)), b""
    for name, content in tags.items():
        table += name + struct.pack(">II", 128 + 4 + 12 * len(tags) + len(body), len(content))
        body += content
    header = struct.pack(">I4xI4s4s4s", 128 + len(table) + len(body), 0x02400000, b"mntr", b"RGB ", b"XYZ ")
    header += b"\0" * 12 + b"acsp" + b"\0" * 28 + fixed(*white)
    return header.ljust(128, b"\0") + table + body
