"""The media type of an image file, from its first bytes: what a client says about it is never trusted."""

__all__ = ["EXTENSIONS", "media_type"]

# Of every format that `embedding.image` decodes.
EXTENSIONS = {
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/gif": "gif",
    "image/bmp": "bmp",
    "image/tiff": "tif",
    "image/webp": "webp",
    "image/avif": "avif",
    "image/heic": "heic",
}

_SIGNATURES = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG", "image/png"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II", "image/tiff"),
    (b"MM", "image/tiff"),
)


def media_type(data: bytes) -> str:
    """The media type of bytes that the decoder accepted; application/octet-stream if it knows more than we do."""
    for signature, name in _SIGNATURES:
        if data.startswith(signature):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp":
        brands = data[8 : int.from_bytes(data[:4])]
        return "image/avif" if b"avif" in brands or b"avis" in brands else "image/heic"
    return "application/octet-stream"
