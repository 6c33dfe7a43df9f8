"""Page cursors: opaque to clients, so that what is inside may change."""

import base64
import binascii

from app.errors import BadCursor

__all__ = ["decode_cursor", "encode_cursor"]

_VERSION = "1:"
_MAX_SEQ = 2**63 - 1  # what a database column holds


def encode_cursor(seq: int) -> str:
    """The cursor of the page after the image with that seq."""
    return base64.urlsafe_b64encode(f"{_VERSION}{seq}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> int:
    """Raises: BadCursor."""
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
        seq = int(text.removeprefix(_VERSION)) if text.startswith(_VERSION) else -1
    except (binascii.Error, ValueError):
        seq = -1
    if not 0 <= seq <= _MAX_SEQ:
        raise BadCursor("This cursor was not given out by this service: start again without one.")
    return seq
