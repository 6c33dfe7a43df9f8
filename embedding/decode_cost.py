"""Refuse files that are cheap to send and dear to decode, before a decoder sees them.

The limit of pixels bounds what a picture takes in memory. It does not bound how often a decoder must go over it, which
a few bytes can demand thousands of times. Each count here is far above what encoders write.
"""

import struct

from embedding.errors import BrokenImage

__all__ = ["check_decode_cost"]

_MAX_JPEG_SCANS = 100  # progressive encoders write about 10; each costs 6 ms at 60 million pixels
_MAX_PNG_CHUNKS = 20_000  # encoders cut at 8 KiB or more; Pillow takes 7 microseconds for each
_MAX_TIFF_PARTS = 50_000  # strips or tiles; Pillow takes 10 microseconds for each

_JPEG_START, _JPEG_SCAN = b"\xff\xd8\xff", b"\xff\xda"
_PNG_START = b"\x89PNG\r\n\x1a\n"
# byte order -> (of the TIFF header: byte order mark and version, for the classic and for the big format)
_TIFF_STARTS = {b"II*\0": "<", b"MM\0*": ">", b"II+\0": "<", b"MM\0+": ">"}
_TIFF_BYTE_TYPES = (1, 2, 6, 7)  # a profile or a comment of a million bytes is one copy, not a million numbers


def check_decode_cost(data: bytes) -> None:
    """Look at the structure of a JPEG, PNG or TIFF file.

    Raises: BrokenImage if it has more scans, chunks, strips or tiles than any encoder would write.
    """
    if data.startswith(_JPEG_START):
        # Within image data 0xFF is always followed by 0; a few more may stand in an embedded thumbnail.
        _check("JPEG", "scans", data.count(_JPEG_SCAN), _MAX_JPEG_SCANS)
    elif data.startswith(_PNG_START):
        _check("PNG", "chunks", _png_chunks(data), _MAX_PNG_CHUNKS)
    elif (order := _TIFF_STARTS.get(data[:4])) is not None:
        _check("TIFF", "strips or tiles", _tiff_longest_list(data, order), _MAX_TIFF_PARTS)


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


def _tiff_longest_list(data: bytes, order: str) -> int:
    """The greatest count of numbers that an entry of the first directory claims."""
    big = data[2:4] in (b"+\0", b"\0+")
    # header: where the first directory is; directory: how many entries; entry: tag, type, count, value
    offset_form, number_form, entry_form, first = ("Q", "Q", "HHQ8x", 8) if big else ("I", "H", "HHI4x", 4)
    try:
        (offset,) = struct.unpack_from(order + offset_form, data, first)
        (entries,) = struct.unpack_from(order + number_form, data, offset)
        offset += struct.calcsize(order + number_form)
        step = struct.calcsize(order + entry_form)
        fields = [struct.unpack_from(order + entry_form, data, offset + i * step) for i in range(min(entries, 4096))]
    except (struct.error, OverflowError):
        return 0  # cut off: the decoder will say so
    return max((count for _tag, kind, count in fields if kind not in _TIFF_BYTE_TYPES), default=0)
