"""Text that clients choose: what may be kept, checked once, with the limit in the message."""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any

from app.errors import BadField, ReservedId, shown
from app.records import Scalar

__all__ = [
    "MAX_DETAIL",
    "MAX_METADATA_BYTES",
    "MAX_METADATA_DEPTH",
    "MAX_NAME",
    "MAX_TEXT",
    "QUERY_PREFIX",
    "check_filter",
    "check_image_id",
    "check_length",
    "check_metadata",
    "check_text",
    "filter_from",
    "metadata_from",
    "nests_deeper",
    "readable_detail",
    "readable_metadata",
    "readable_name",
]

_log = logging.getLogger(__name__)

QUERY_PREFIX = "q_"
MAX_NAME = 500  # characters of a file's name, which is only shown
MAX_DETAIL = 2000  # characters of what is kept of a message
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
        raise ReservedId(f"Image ids may not start with {QUERY_PREFIX!r}, which marks queries: got {shown(image_id)}.")
    if not _IMAGE_ID.fullmatch(image_id):
        raise BadField(
            "An image id has 1 to 200 characters, letters, digits and . _ : - only, and starts with a letter or digit: "
            f"got {shown(image_id)}."
        )


def check_text(name: str, text: str | None) -> str | None:
    """A category or a source: short and printable; empty counts as none. Raises: BadField."""
    if not text:
        return None
    if len(text) > MAX_TEXT:
        raise BadField(f"{name} has {len(text):,} characters, the limit is {MAX_TEXT}.")
    if _UNPRINTABLE.search(text):
        raise BadField(f"{name} has control characters or broken text: got {shown(text)}.")
    return text


def metadata_from(text: str | None) -> dict[str, Any]:
    """A JSON object; none is the empty one. Raises: BadField."""
    if not text:
        return {}
    check_length("metadata", text)
    return check_metadata(_loaded(text))


def check_metadata(metadata: Any) -> dict[str, Any]:
    """Metadata as JSON values. Raises: BadField."""
    canonical = _canonical(metadata)
    check_length("metadata", canonical)
    if not isinstance(metadata, dict):
        raise BadField(f"metadata must be a JSON object, got {shown(canonical)}.")
    if _NUL_OR_SURROGATE.search(canonical):
        raise BadField("metadata has NUL characters or broken text, which cannot be stored.")
    return metadata


def filter_from(text: str | None) -> dict[str, Scalar]:
    """Members that metadata must have, a JSON object of texts, numbers, true, false and null. Raises: BadField."""
    return check_filter(metadata_from(text))


def check_filter(members: Any) -> dict[str, Scalar]:
    """The same as JSON values. Raises: BadField."""
    if isinstance(members, dict):
        _check_members(members)  # first: that is quick, however many there are
    return dict(check_metadata(members))


def _check_members(members: Mapping[str, Any]) -> None:
    """Raises: BadField."""
    if len(members) > _MAX_MEMBERS:
        raise BadField(f"A filter has at most {_MAX_MEMBERS} members, this one has {len(members):,}.")
    for name, value in members.items():
        if isinstance(value, list | dict):
            raise BadField(f"A filter compares texts, numbers, true, false and null: {shown(name)} is none of these.")
        if isinstance(value, int) and abs(value) > _MAX_INTEGER:
            raise BadField(f"A filter compares numbers of up to 64 bits: {shown(name)} is greater.")


def readable_metadata(image_id: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Stored metadata as answers may hold it: none in place of what nests too deep, so that no row breaks a listing."""
    if nests_deeper(metadata, _READABLE_DEPTH):
        _log.warning("The metadata of image %s nests too deep to be shown: it is left out.", image_id)
        return {}
    return dict(metadata)


def readable_name(text: str) -> str:
    """A file's name as answers, logs and the database take it: what is unprintable as an escape, and not for ever."""
    return _readable(text, MAX_NAME)


def readable_detail(text: str) -> str:
    """The same for what went wrong, which may repeat what somebody sent."""
    return _readable(text, MAX_DETAIL)


def _readable(text: str, most: int) -> str:
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text[:most])[:most]


def check_length(name: str, text: str) -> None:
    """Of metadata or another field that is JSON. Raises: BadField."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_METADATA_BYTES:
        raise BadField(f"{name} has {len(text):,} characters, the limit is {MAX_METADATA_BYTES:,} bytes.")


def _loaded(text: str) -> Any:
    """Raises: BadField."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadField(f"metadata is no JSON: {error}") from error


def _canonical(value: Any) -> str:
    """Raises: BadField."""
    if nests_deeper(value, MAX_METADATA_DEPTH):
        raise BadField(f"metadata has more than {MAX_METADATA_DEPTH} levels of JSON inside each other: flatten it.")
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except ValueError as error:
        raise BadField(f"metadata holds a number that JSON has no word for: {error}") from error


def nests_deeper(value: object, depth: int) -> bool:
    """Whether objects and lists stand more than `depth` deep inside each other; without recursion, level by level."""
    level = [value]
    for _ in range(depth):
        level = [inner for each in level for inner in _inside(each) if isinstance(inner, dict | list)]
    return bool(level)


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()
