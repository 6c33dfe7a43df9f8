"""What a file says that it is, by its first bytes: tells damaged files of a supported format from foreign ones."""

__all__ = ["claimed_format"]

_STARTS = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"II+\0": "TIFF",
    b"MM\0+": "TIFF",
}
_BRANDS = {b"avif": "AVIF", b"avis": "AVIF"} | dict.fromkeys(
    (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"hevm", b"hevs", b"mif1", b"msf1"), "HEIF"
)


def claimed_format(data: bytes) -> str | None:
    """The supported format, by Pillow's name, that the file begins like; None if it begins like none of them."""
    if data[4:8] == b"ftyp":  # the container of videos too: its brand decides
        return _BRANDS.get(data[8:12])
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    if data[:2] == b"BM" and data[6:10] == bytes(4):  # two letters begin many a text; these four are reserved
        return "BMP"
    return next((name for start, name in _STARTS.items() if data.startswith(start)), None)
