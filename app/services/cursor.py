"""Page cursors: opaque to clients, so that what is inside may change."""

import base64
import binascii
from collections.abc import Callable
from typing import Protocol, TypeVar

from app.errors import BadCursor, BadLimit, shown

__all__ = ["MAX_PAGE", "decode_cursor", "encode_cursor", "one_page"]

MAX_PAGE = 1000  # rows in one answer of a listing; of images about half a megabyte of JSON

_VERSION = "1:"
_MAX_SEQ = 2**63 - 1  # what a database column holds


class _Numbered(Protocol):
    @property
    def seq(self) -> int: ...


T = TypeVar("T", bound=_Numbered)


def one_page(rows: Callable[[int, int], list[T]], limit: int, cursor: str | None) -> tuple[list[T], str | None]:
    """A page of a listing, and the cursor of the one that follows.

    rows: at most so many, of a seq above the second number, in the order of seq. Raises: BadLimit, BadCursor.
    """
    if not 1 <= limit <= MAX_PAGE:
        raise BadLimit(f"limit must be 1 to {MAX_PAGE}, got {shown(limit)}.")
    found = rows(limit + 1, decode_cursor(cursor) if cursor else 0)
    return found[:limit], encode_cursor(found[limit - 1].seq) if len(found) > limit else None


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
