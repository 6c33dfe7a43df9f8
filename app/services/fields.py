"""Text that clients choose: what may be kept, checked once, with the limit in the message."""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any

from app.errors import BadField, ReservedId
from app.records import Scalar

__all__ = [
    "MAX_METADATA_BYTES",
    "MAX_METADATA_DEPTH",
    "MAX_TEXT",
    "QUERY_PREFIX",
    "check_image_id",
    "check_metadata",
    "check_text",
    "filter_from",
    "metadata_from",
    "readable_metadata",
]

_log = logging.getLogger(__name__)

QUERY_PREFIX = "q_"
MAX_TEXT = 200  # characters of a category or a source
MAX_METADATA_BYTES = 65_536  # it is read with every row that a search returns
MAX_METADATA_DEPTH = 32  # objects and lists inside each other
_MAX_MEMBERS = 32  # of a filter; SQLite takes expressions of a thousand parts
_MAX_INTEGER = 2**63 - 1  # what SQLite compares exactly
# What pydantic still writes as JSON is 255 levels, of which an answer takes some itself.
_READABLE_DEPTH = 200

# Safe in a URL, in a file name and in a header; the first character keeps "." and ".." out.
_IMAGE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
# Control characters, and halves of surrogate pairs, which are no text and which no database takes.
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
    _check_length(text)
    return check_metadata(_loaded(text))


def check_metadata(metadata: Any) -> dict[str, Any]:
    """Metadata as JSON values. Raises: BadField."""
    canonical = _canonical(metadata)
    _check_length(canonical)
    if not isinstance(metadata, dict):
        raise BadField(f"metadata must be a JSON object, got {_shown(canonical)}.")
    if _NUL_OR_SURROGATE.search(canonical):
        raise BadField("metadata has NUL characters or broken text, which cannot be stored.")
    return metadata


def filter_from(text: str | None) -> dict[str, Scalar]:
    """Members that metadata must have, a JSON object of texts, numbers, true, false and null. Raises: BadField."""
    members = metadata_from(text)
    if len(members) > _MAX_MEMBERS:
        raise BadField(f"A filter has at most {_MAX_MEMBERS} members, this one has {len(members):,}.")
    for name, value in members.items():
        if isinstance(value, list | dict):
            raise BadField(f"A filter compares texts, numbers, true, false and null: {_shown(name)} is none of these.")
        if isinstance(value, int) and abs(value) > _MAX_INTEGER:
            raise BadField(f"A filter compares numbers of up to 64 bits: {_shown(name)} is greater.")
    return members


def readable_metadata(image_id: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Stored metadata as answers may hold it: none in place of what nests too deep, so that no row breaks a listing."""
    if _nests_deeper(metadata, _READABLE_DEPTH):
        _log.warning("The metadata of image %s nests too deep to be shown: it is left out.", image_id)
        return {}
    return dict(metadata)


def _check_length(text: str) -> None:
    """Raises: BadField."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_METADATA_BYTES:
        raise BadField(f"metadata has {len(text):,} characters, the limit is {MAX_METADATA_BYTES:,} bytes.")


def _loaded(text: str) -> Any:
    """Raises: BadField."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadField(f"metadata is no JSON: {error}") from error


def _canonical(value: Any) -> str:
    """Raises: BadField."""
    if _nests_deeper(value, MAX_METADATA_DEPTH):
        raise BadField(f"metadata has more than {MAX_METADATA_DEPTH} levels of JSON inside each other: flatten it.")
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except ValueError as error:
        raise BadField(f"metadata holds a number that JSON has no word for: {error}") from error


def _nests_deeper(value: object, depth: int) -> bool:
    """Whether objects and lists stand more than `depth` deep inside each other; without recursion, level by level."""
    level = [value]
    for _ in range(depth):
        level = [inner for each in level for inner in _inside(each) if isinstance(inner, dict | list)]
    return bool(level)


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _shown(text: str) -> str:
    """Some of it, as ASCII: it goes into answers and logs."""
    return ascii(text if len(text) <= 60 else text[:57] + "...")
