"""Refuse files that are cheap to send and dear to decode, before a decoder sees them.

The limit of pixels bounds what a picture takes in memory. It does not bound how often a decoder must go over it, which
a few bytes can demand thousands of times. Each count here is far above what encoders write.
"""

import math
import struct

from embedding.errors import BrokenImage

__all__ = ["check_decode_cost"]

_MAX_JPEG_SCANS = 100  # progressive encoders write about 10; each costs 6 ms at 60 million pixels
_MAX_PNG_CHUNKS = 20_000  # encoders cut at 8 KiB or more; Pillow takes 7 microseconds for each
_MAX_TIFF_PARTS = 50_000  # strips or tiles; Pillow takes 10 microseconds for each
# A tile may be larger than the picture, and is decoded whole: 10 x 10 pixels in one tile of 700 kB took 770 MB.
_MAX_TIFF_TILE = 4096 * 4096  # pixels; encoders write 256 x 256 to 1024 x 1024

_JPEG_START, _JPEG_SCAN = b"\xff\xd8\xff", b"\xff\xda"
_PNG_START = b"\x89PNG\r\n\x1a\n"
# byte order -> (of the TIFF header: byte order mark and version, for the classic and for the big format)
_TIFF_STARTS = {b"II*\0": "<", b"MM\0*": ">", b"II+\0": "<", b"MM\0+": ">"}
_TIFF_TILE_SIDES = (322, 323)  # the tags
_TIFF_NUMBERS = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 16: "Q", 17: "q"}  # the types that libtiff takes there
_TIFF_BYTE_TYPES = (1, 2, 6, 7)  # a profile or a comment of a million bytes is one copy, not a million numbers

_Entry = tuple[int, int, int, bytes]  # tag, type, count, and the value, or where it is if it takes more room


def check_decode_cost(data: bytes) -> None:
    """Look at the structure of a JPEG, PNG or TIFF file.

    Raises: BrokenImage if it has more scans, chunks, strips or tiles, or larger tiles, than any encoder would write.
    """
    if data.startswith(_JPEG_START):
        # Within image data 0xFF is always followed by 0; a few more may stand in an embedded thumbnail.
        _check("JPEG", "scans", data.count(_JPEG_SCAN), _MAX_JPEG_SCANS)
    elif data.startswith(_PNG_START):
        _check("PNG", "chunks", _png_chunks(data), _MAX_PNG_CHUNKS)
    elif (order := _TIFF_STARTS.get(data[:4])) is not None:
        directory = _tiff_directory(data, order)
        _check("TIFF", "strips or tiles", _tiff_longest_list(directory), _MAX_TIFF_PARTS)
        _check("TIFF", "pixels in each tile", _tiff_tile_pixels(data, order, directory), _MAX_TIFF_TILE)


def _check(kind: str, what: str, count: int, limit: int) -> None:
    if count > limit:
        raise BrokenImage(f"The {kind} image has {count:,} {what}, the limit is {limit:,}: save it anew.")


def _png_chunks(data: bytes) -> int:
    """How many chunks there are, counted to just beyond the limit."""
    position, chunks = len(_PNG_START), 0
    while position + 8 <= len(data) and chunks <= _MAX_PNG_CHUNKS:
        position += 12 + int.from_bytes(data[position : position + 4], "big")
        chunks += 1
    return chunks


def _tiff_directory(data: bytes, order: str) -> list[_Entry]:
    """The first directory."""
    big = data[2:4] in (b"+\0", b"\0+")
    # header: where the first directory is; directory: how many entries; entry: tag, type, count, value
    offset_form, number_form, entry_form, first = ("Q", "Q", "HHQ8s", 8) if big else ("I", "H", "HHI4s", 4)
    try:
        (offset,) = struct.unpack_from(order + offset_form, data, first)
        (entries,) = struct.unpack_from(order + number_form, data, offset)
        offset += struct.calcsize(order + number_form)
        step = struct.calcsize(order + entry_form)
        return [struct.unpack_from(order + entry_form, data, offset + i * step) for i in range(min(entries, 4096))]
    except (struct.error, OverflowError):
        return []  # cut off: the decoder will say so


def _tiff_longest_list(directory: list[_Entry]) -> int:
    """The greatest count of numbers that an entry claims."""
    return max((count for _tag, kind, count, _value in directory if kind not in _TIFF_BYTE_TYPES), default=0)


def _tiff_tile_pixels(data: bytes, order: str, directory: list[_Entry]) -> int:
    """Width x height of a tile; of several claims the greatest."""
    sides = [
        max((_tiff_number(data, order, entry) for entry in directory if entry[0] == tag), default=0)
        for tag in _TIFF_TILE_SIDES
    ]
    return math.prod(sides)


def _tiff_number(data: bytes, order: str, entry: _Entry) -> int:
    """The first number of an entry; 0 if it has none."""
    _tag, kind, _count, value = entry
    form = order + _TIFF_NUMBERS.get(kind, "x")
    try:
        if struct.calcsize(form) > len(value):
            (offset,) = struct.unpack(order + "I", value)
            return max(struct.unpack_from(form, data, offset), default=0)
        return max(struct.unpack_from(form, value), default=0)
    except struct.error:
        return 0
