"""Text that clients choose: what may be kept, checked once, with the limit in the message."""

import json
import re
from typing import Any

from app.errors import BadField, ReservedId

__all__ = [
    "MAX_METADATA_BYTES",
    "MAX_TEXT",
    "QUERY_PREFIX",
    "check_image_id",
    "check_text",
    "metadata_from",
]

QUERY_PREFIX = "q_"
MAX_TEXT = 200  # characters of a category or a source
MAX_METADATA_BYTES = 65_536  # it is read with every row that a search returns

# Safe in a URL, in a file name and in a header; the first character keeps "." and ".." out.
_IMAGE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
# Control characters, of which PostgreSQL keeps no NUL, and halves of surrogate pairs, which are no text.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
# The same two in JSON, where NUL is written \u0000, its backslash not escaped itself.
_NUL_OR_SURROGATE = re.compile(r"(?<!\\)(?:\\\\)*\\u0000|[\ud800-\udfff]")


def check_image_id(image_id: str) -> None:
    """Raises: ReservedId, BadField."""
    if image_id.startswith(QUERY_PREFIX):
        raise ReservedId(f"Image ids may not start with {QUERY_PREFIX!r}, which marks queries: got {_shown(image_id)}.")
    if not _IMAGE_ID.fullmatch(image_id):
        raise BadField(
            "An image id has 1 to 200 characters, letters, digits and . _ : - only, and starts with a letter or digit: "
            f"got {_shown(image_id)}."
        )


def check_text(name: str, text: str | None) -> str | None:
    """A category or a source: short and printable; empty counts as none. Raises: BadField."""
    if not text:
        return None
    if len(text) > MAX_TEXT:
        raise BadField(f"{name} has {len(text):,} characters, the limit is {MAX_TEXT}.")
    if _UNPRINTABLE.search(text):
        raise BadField(f"{name} has control characters or broken text: got {_shown(text)}.")
    return text


def metadata_from(text: str | None) -> dict[str, Any]:
    """A JSON object; none is the empty one. Raises: BadField."""
    if not text:
        return {}
    if len(text.encode("utf-8", "surrogatepass")) > MAX_METADATA_BYTES:
        raise BadField(f"metadata has {len(text):,} characters, the limit is {MAX_METADATA_BYTES:,} bytes.")
    try:
        metadata = json.loads(text)
        canonical = json.dumps(metadata, allow_nan=False, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        raise BadField(f"metadata is no JSON, or holds a number that JSON has no word for: {error}") from error
    if not isinstance(metadata, dict):
        raise BadField(f"metadata must be a JSON object, got {_shown(text)}.")
    if _NUL_OR_SURROGATE.search(canonical):
        raise BadField("metadata has NUL characters or broken text, which cannot be stored.")
    return metadata


def _shown(text: str) -> str:
    """Some of it, as ASCII: it goes into answers and logs."""
    return ascii(text if len(text) <= 60 else text[:57] + "...")
